/** Ends one container: its preStop hook, its turn, then the stop, all within one grace period (upstream killContainer). */
import type { RuntimeContainerStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container, LifecycleHandler } from '../../../shared/kubernetes/api.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import type { KillReason } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { runHook } from '../hooks/run-hook.ts';
import { GracePeriodBudget } from './grace-budget.ts';
import { maximumGraceSeconds, minimumGraceSeconds, terminationGraceSeconds } from './container-grace-period.ts';
import type { TerminationOrder } from './termination-order.ts';

export interface KillRequest {
  readonly id: ContainerID;
  readonly name: string;
  /** Becomes the Killing event; empty: that it is stopped. */
  readonly message: string;
  readonly reason: KillReason;
  /** Instead of the pod's own; null: the pod's own. */
  readonly graceOverrideSeconds: number | null;
  /** Given where the pod ends as a whole and has sidecars. */
  readonly order?: TerminationOrder;
  /** What the runtime has of it: for a container that no spec has any more. */
  readonly orphan?: RuntimeContainerStatus['orphan'];
  /** Where an HTTP hook that names no host goes. */
  readonly podIP?: string | undefined;
}

/** Resolves when it has ended. Rejects with CriError, or with Stopped. */
export async function killContainer(context: TaskContext, request: KillRequest): Promise<void> {
  const { channel, events, runtime, clock } = context;
  const { id, name, order } = request;
  const container = specOf(context, request);
  const askedSeconds =
    request.graceOverrideSeconds ??
    terminationGraceSeconds({
      // What no spec has any more goes by its annotations.
      pod: container.fromSpec ? context.identity.pod : null,
      container: container.spec,
      reason: request.reason,
      ...(request.orphan && { orphan: request.orphan }),
    });
  const graceSeconds = Math.min(askedSeconds, maximumGraceSeconds);
  const logger = context.logger.child({ container: name, containerID: id });
  events.onContainer(name, 'Normal', 'Killing', request.message || `Stopping container ${name}`, id);

  const budget = new GracePeriodBudget(clock, graceSeconds);
  const stopShrinking = channel.onShrink((seconds) => budget.shrink(seconds));
  try {
    const preStop = container.spec.lifecycle?.preStop;
    if (preStop && graceSeconds > 0) await runPreStop(context, request, preStop, container.spec.ports ?? [], budget);
    if (order && budget.remainingSeconds > 0) await budget.within(() => order.waitForTurn(name), channel.signal);
    logger.debug({ reason: request.reason, graceSeconds: budget.remainingSeconds }, 'killing container');
    await stop(runtime, id, budget, channel.signal);
    channel.signal.throwIfAborted();
    order?.containerTerminated(name);
    logger.info({ reason: request.reason }, 'container killed');
  } catch (err) {
    channel.signal.throwIfAborted();
    throw err;
  } finally {
    stopShrinking();
  }
}

/** A failed hook is an event and changes nothing else. Its output never gets into an event: it may hold secrets. */
async function runPreStop(
  context: TaskContext,
  { id, name, podIP }: KillRequest,
  handler: LifecycleHandler,
  ports: NonNullable<Container['ports']>,
  budget: GracePeriodBudget,
): Promise<void> {
  const { channel, logger, events } = context;
  const hook = { handler, containerID: id, container: name, ports, podIP };
  try {
    const outcome = await budget.within((signal) => runHook(context, hook, 'FailedPreStopHook', signal), channel.signal);
    if (outcome === 'expired') logger.warn({ container: name, containerID: id }, 'preStop hook did not complete in the grace period');
  } catch (err) {
    channel.signal.throwIfAborted();
    logger.warn({ err, container: name, containerID: id }, 'preStop hook failed');
    events.onContainer(name, 'Warning', 'FailedPreStopHook', 'PreStopHook failed', id);
  }
}

/** A shorter grace period is told to the runtime by a second call: it kills at the sooner of the two times. */
function stop(runtime: TaskContext['runtime'], id: ContainerID, budget: GracePeriodBudget, signal: AbortSignal): Promise<void> {
  const call = () => runtime.stopContainer(id, Math.max(budget.remainingSeconds, minimumGraceSeconds), signal);
  return new Promise<void>((resolve, reject) => {
    const stopListening = budget.onShrink(() => void call().then(resolve, () => {}));
    void call().then(resolve, reject).finally(stopListening);
  });
}

function specOf(
  { identity, logger }: TaskContext,
  { name, orphan }: KillRequest,
): { spec: Pick<Container, 'lifecycle' | 'ports' | 'startupProbe' | 'livenessProbe'>; fromSpec: boolean } {
  const spec = identity.pod?.spec;
  const lists = [spec?.containers, spec?.initContainers, spec?.ephemeralContainers];
  const found = lists.flatMap((list) => list ?? []).find((container) => container.name === name);
  if (found) return { spec: found, fromSpec: true };
  const preStop = parseObject(orphan?.preStopHandler);
  const ports = parseObject(orphan?.ports) as Container['ports'] | null;
  if (preStop === null || ports === null) logger.warn({ container: name }, 'annotations of the container cannot be read');
  return { spec: { ...(preStop && { lifecycle: { preStop } }), ...(ports && { ports }) }, fromSpec: false };
}

/** Null for what is no JSON: anyone may have written the annotation. */
function parseObject(json: string | undefined): object | null | undefined {
  if (json === undefined || json === '') return undefined;
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
