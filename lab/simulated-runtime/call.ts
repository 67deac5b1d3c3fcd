/**
 * Runs one call of the runtime: counts it, applies matching faults, waits for its latency, executes it and records it. A cancelled call
 * releases its share of the CPU at once and changes nothing.
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
  /** Waits for the call's latency. Throws when the call was cancelled; the handler must not change anything then. */
  work(): Promise<void>;
}

export type Handler<Request, Reply> = (request: Request, call: CallContext) => Promise<Reply> | Reply;

export interface CallEnvironment {
  readonly runtime: SimulatedRuntime;
  readonly faults: FaultTable;
  readonly log: CallLog;
  /** Returns null when contention is not simulated. */
  readonly sharedWork: () => SharedWork | null;
}

export interface CallOutcome<Reply> {
  readonly reply: Reply;
  readonly oversize: boolean;
}

/** Throws only RpcError. */
export async function runCall<Request extends object, Reply>(
  name: string,
  request: Request,
  signal: AbortSignal,
  handler: Handler<Request, Reply>,
  environment: CallEnvironment,
): Promise<CallOutcome<Reply>> {
  const { runtime, faults, log } = environment;
  const startMs = runtime.clock.monotonic();
  const subjects = () => runtime.requestSubjects(request);
  // Read before the handler runs, because a removed object can not be found afterwards.
  const subject = recordedSubject(runtime, request);
  let code: GrpcCode = grpcCode.OK;
  log.begin(name);
  try {
    const matched = faults.match(name, subjects);
    const isLate = matched.some(({ kind }) => kind === 'late');
    const noticed = isLate ? new AbortController().signal : signal;
    for (const fault of matched) await applyFault(fault, noticed, runtime);
    const work = () => waitForLatency(name, noticed, environment);
    const reply = await handler(request, { signal: noticed, work });
    const failAfter = matched.find((fault) => fault.kind === 'failAfter');
    if (failAfter) throw failure(failAfter);
    return { reply, oversize: matched.some((fault) => fault.kind === 'oversize') };
  } catch (err) {
    const error = err instanceof RpcError ? err : new RpcError(grpcCode.UNKNOWN, err instanceof Error ? err.message : String(err));
    code = error.code;
    throw error;
  } finally {
    log.end({ call: name, subject, startMs, endMs: runtime.clock.monotonic(), code });
  }
}

async function waitForLatency(name: string, signal: AbortSignal, { runtime, sharedWork }: CallEnvironment): Promise<void> {
  const latency = runtime.options.latency[name];
  if (latency) {
    const ms = drawLatencyMs(latency, runtime.random);
    const shared = heavyCalls.has(name) ? sharedWork() : null;
    if (shared) await shared.run(ms, signal);
    else await runtime.clock.sleep(ms, signal).catch(() => undefined);
  }
  if (signal.aborted) throw cancelled();
}

/** Applies a fault that takes effect before the handler runs. */
async function applyFault(fault: Fault, signal: AbortSignal, runtime: SimulatedRuntime): Promise<void> {
  switch (fault.kind) {
    case 'hang':
    case 'late':
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

/** Returns `<pod UID>`, `<pod UID>/<container>` or an image's name, by which benchmarks match calls. */
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
