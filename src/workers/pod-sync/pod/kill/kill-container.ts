/**
 * Kills one container: runs its preStop hook, waits for the containers that must terminate before it, then stops the container. All steps
 * share one grace period (upstream killContainer).
 */
import type { RuntimeContainerStatus } from '../../../../shared/contracts/runtime-status.ts';
import type { Container } from '../../../../shared/kubernetes/api.ts';
import type { ContainerID } from '../../../../shared/kubernetes/ids.ts';
import type { KillReason } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { runHook, type Hook } from '../hooks/index.ts';
import { inPhase } from '../in-phase.ts';
import { GracePeriodBudget } from './grace-period-budget.ts';
import { maximumGraceSeconds, minimumGraceSeconds, computeGracePeriodSeconds } from './container-grace-period.ts';
import type { TerminationOrder } from './termination-order.ts';

export interface KillRequest {
  readonly id: ContainerID;
  readonly name: string;
  /** The message of the Killing event; empty for the default message. */
  readonly message: string;
  readonly reason: KillReason;
  /** Null for the pod's own grace period. */
  readonly gracePeriodOverrideSeconds: number | null;
  /** The limit of the pod's own grace period. */
  readonly maximumSeconds?: number;
  /** Set when the whole pod terminates and has sidecars. */
  readonly order?: TerminationOrder;
  /** The runtime's annotations, for a container that is no longer in any spec. */
  readonly orphan?: RuntimeContainerStatus['orphan'];
  /** The default host of an HTTP hook. */
  readonly podIP?: string | undefined;
}

/**
 * Resolves when the container has terminated. Rejects with CriError, or with Stopped when the kubelet ends. The end of the pod stops no kill: it shrinks the grace
 * period.
 */
export async function killContainer(context: TaskContext, request: KillRequest): Promise<void> {
  const { channel, events, runtime, clock } = context;
  const { id, name, order } = request;
  const container = findSpec(context, request);
  const requestedSeconds =
    request.gracePeriodOverrideSeconds ??
    computeGracePeriodSeconds({
      // A container that is no longer in the spec has its grace period in annotations.
      pod: container.fromSpec ? context.identity.pod : null,
      container: container.spec,
      reason: request.reason,
      ...(request.orphan && { orphan: request.orphan }),
    });
  const graceSeconds = Math.min(requestedSeconds, request.maximumSeconds ?? maximumGraceSeconds);
  const logger = context.logger.child({ container: name, containerID: id });
  events.onContainer(name, 'Normal', 'Killing', request.message || `Stopping container ${name}`, id);

  const budget = new GracePeriodBudget(clock, graceSeconds);
  const stopListening = channel.onShrink((seconds) => budget.shrink(seconds));
  const killIsOver = new AbortController();
  try {
    const preStop = container.spec.lifecycle?.preStop;
    if (preStop && graceSeconds > 0) {
      const hook = { handler: preStop, containerID: id, container: name, ports: container.spec.ports ?? [], podIP: request.podIP };
      await runPreStop(context, hook, budget, AbortSignal.any([killIsOver.signal, channel.abandoned]));
    }
    await inPhase(context, 'Stop', { container: name, dueMs: budget.deadlineMs }, async () => {
      if (order && budget.remainingSeconds > 0) {
        channel.phase({ edge: 'wait', phase: 'Stop', container: name, atMs: clock.monotonic(), wait: 'OtherContainers' });
        await budget.within(() => order.waitForPrerequisites(name), channel.abandoned);
        channel.phase({ edge: 'proceed', phase: 'Stop', container: name, atMs: clock.monotonic() });
      }
      logger.debug({ reason: request.reason, graceSeconds: budget.remainingSeconds }, 'killing container');
      await stopContainer(runtime, id, budget, channel.abandoned);
    });
    channel.abandoned.throwIfAborted();
    order?.containerTerminated(name);
    logger.info({ reason: request.reason }, 'container killed');
  } catch (err) {
    channel.abandoned.throwIfAborted();
    throw err;
  } finally {
    stopListening();
    killIsOver.abort();
  }
}

/**
 * A hook that does not end in the grace period runs on while the container is stopped, and ends with it. A failed hook is reported as an event; the kill continues. The
 * event never contains the hook's output, which may contain secrets.
 * @param killIsOver aborts when the container has terminated, or the task is stopped
 */
async function runPreStop(context: TaskContext, hook: Hook, budget: GracePeriodBudget, killIsOver: AbortSignal): Promise<void> {
  const { channel, logger, events } = context;
  const { container: name, containerID: id } = hook;
  const running = runHook(context, hook, 'FailedPreStopHook', killIsOver);
  // The hook may fail after the wait for it has expired.
  running.catch(() => {});
  try {
    const outcome = await inPhase(context, 'PreStop', { container: name, dueMs: budget.deadlineMs }, () =>
      budget.within(() => running, channel.abandoned),
    );
    if (outcome === 'expired') logger.warn({ container: name, containerID: id }, 'preStop hook did not complete in the grace period');
  } catch (err) {
    channel.abandoned.throwIfAborted();
    logger.warn({ err, container: name, containerID: id }, 'preStop hook failed');
    events.onContainer(name, 'Warning', 'FailedPreStopHook', 'PreStopHook failed', id);
  }
}

/** When the grace period shrinks, a second call passes the shorter timeout: the runtime kills at the earlier of the two times. */
function stopContainer(runtime: TaskContext['runtime'], id: ContainerID, budget: GracePeriodBudget, signal: AbortSignal): Promise<void> {
  const call = () => runtime.stopContainer(id, Math.max(budget.remainingSeconds, minimumGraceSeconds), signal);
  return new Promise<void>((resolve, reject) => {
    const stopListening = budget.onShrink(() => void call().then(resolve, () => {}));
    void call().then(resolve, reject).finally(stopListening);
  });
}

function findSpec(
  { identity, logger }: TaskContext,
  { name, orphan }: KillRequest,
): { spec: Pick<Container, 'lifecycle' | 'ports' | 'startupProbe' | 'livenessProbe'>; fromSpec: boolean } {
  const spec = identity.pod?.spec;
  const lists = [spec?.containers, spec?.initContainers, spec?.ephemeralContainers];
  const matchingSpec = lists.flatMap((list) => list ?? []).find((container) => container.name === name);
  if (matchingSpec) return { spec: matchingSpec, fromSpec: true };
  const preStop = parseObject(orphan?.preStopHandler);
  const ports = parseObject(orphan?.ports) as Container['ports'] | null;
  if (preStop === null || ports === null) logger.warn({ container: name }, 'annotations of the container cannot be read');
  return { spec: { ...(preStop && { lifecycle: { preStop } }), ...(ports && { ports }) }, fromSpec: false };
}

/** Returns null for invalid JSON: the annotation may have been written by anyone. */
function parseObject(json: string | undefined): object | null | undefined {
  if (json === undefined || json === '') return undefined;
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
