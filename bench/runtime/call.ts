/**
 * One call on its way through the runtime: it is counted, meets its faults, works for as long as such a call takes, acts, and is
 * recorded. A caller that gives up frees its share of the machine at once, and what it had asked for does not happen.
 */
import { grpcCode, type GrpcCode } from '../../src/shared/cri/cri-error.ts';
import type { CallLog } from './call-log.ts';
import type { Fault, FaultTable } from './faults.ts';
import type { SharedWork } from './contention.ts';
import { drawLatencyMs, heavyCalls } from './options.ts';
import { cancelled, RpcError } from './rpc-error.ts';
import type { SimulatedRuntime } from './runtime.ts';

export interface CallContext {
  readonly signal: AbortSignal;
  /** Takes the time that the call takes. Throws when the caller gave up meanwhile: nothing may be changed then. */
  work(): Promise<void>;
}

export type Handler<Request, Reply> = (request: Request, call: CallContext) => Promise<Reply> | Reply;

export interface CallSurroundings {
  readonly runtime: SimulatedRuntime;
  readonly faults: FaultTable;
  readonly log: CallLog;
  /** Null: calls do not slow each other down. */
  readonly sharedWork: () => SharedWork | null;
}

export interface CallOutcome<Reply> {
  readonly reply: Reply;
  readonly oversize: boolean;
}

/** Runs one call from request to reply. Throws RpcError only. */
export async function runCall<Request extends object, Reply>(
  name: string,
  request: Request,
  signal: AbortSignal,
  handler: Handler<Request, Reply>,
  around: CallSurroundings,
): Promise<CallOutcome<Reply>> {
  const { runtime, faults, log } = around;
  const startMs = runtime.clock.monotonic();
  const subjects = () => runtime.subjectsOf(request);
  // Taken before the call acts: a removal leaves nothing to look it up by.
  const subject = recordedSubject(runtime, request);
  let code: GrpcCode = grpcCode.OK;
  log.begin(name);
  try {
    const met = faults.meet(name, subjects);
    for (const fault of met) await suffer(fault, signal, runtime);
    const work = () => takeTime(name, signal, around);
    const reply = await handler(request, { signal, work });
    const lost = met.find((fault) => fault.kind === 'failAfter');
    if (lost) throw failure(lost);
    return { reply, oversize: met.some((fault) => fault.kind === 'oversize') };
  } catch (err) {
    const error = err instanceof RpcError ? err : new RpcError(grpcCode.UNKNOWN, err instanceof Error ? err.message : String(err));
    code = error.code;
    throw error;
  } finally {
    log.end({ call: name, subject, startMs, endMs: runtime.clock.monotonic(), code });
  }
}

async function takeTime(name: string, signal: AbortSignal, { runtime, sharedWork }: CallSurroundings): Promise<void> {
  const latency = runtime.options.latency[name];
  if (latency) {
    const ms = drawLatencyMs(latency, runtime.random);
    const shared = heavyCalls.has(name) ? sharedWork() : null;
    if (shared) await shared.run(ms, signal);
    else await runtime.clock.sleep(ms, signal).catch(() => undefined);
  }
  if (signal.aborted) throw cancelled();
}

/** What goes wrong before the call acts. */
async function suffer(fault: Fault, signal: AbortSignal, runtime: SimulatedRuntime): Promise<void> {
  switch (fault.kind) {
    case 'hang':
      await Promise.race([aborted(signal), aborted(fault.cleared)]);
      break;
    case 'delay':
      await runtime.clock.sleep(fault.delayMs ?? 1000, AbortSignal.any([signal, fault.cleared])).catch(() => undefined);
      break;
    case 'fail':
      throw failure(fault);
    case 'failAfter':
    case 'oversize':
      break;
  }
  if (signal.aborted) throw cancelled();
}

function failure({ code, message }: Fault): RpcError {
  return new RpcError(code ?? grpcCode.UNAVAILABLE, message ?? 'simulated failure');
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** `<pod UID>`, `<pod UID>/<container>`, or an image's name: what a benchmark joins calls by. */
function recordedSubject(runtime: SimulatedRuntime, request: object): string {
  const { podSandboxId, containerId, config, image } = request as Partial<{
    podSandboxId: string;
    containerId: string;
    config: { metadata?: { name: string; uid?: string } };
    image: { image: string };
  }>;
  if (image !== undefined) return image.image;
  const container = containerId === undefined ? undefined : runtime.machine.containers.get(containerId);
  if (container) return `${container.sandbox.config.metadata!.uid}/${container.config.metadata!.name}`;
  const sandboxUID = podSandboxId === undefined ? undefined : runtime.machine.sandboxes.get(podSandboxId)?.config.metadata?.uid;
  if (sandboxUID !== undefined) return config?.metadata ? `${sandboxUID}/${config.metadata.name}` : sandboxUID;
  return config?.metadata?.uid ?? '';
}
