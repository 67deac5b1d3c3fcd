/**
 * Starts the containers of a pod one after the other: ephemeral, init, regular. A container in back-off is not started. A container that
 * fails stops only the containers that depend on it.
 */
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import { KubeletError, messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { Container, EphemeralContainer, PodSpec } from '../../../../shared/kubernetes/api.ts';
import { goDuration } from '../../../../shared/kubernetes/go-text.ts';
import { isRestartableInitContainer } from '../../../../shared/kubernetes/restart-policy.ts';
import { crashLoopBackOff, imagePullBackOff } from '../../../../shared/kubernetes/waiting-reasons.ts';
import { startedContainers, startedContainersErrors } from '../../../../shared/metrics/definitions/pod-sync.ts';
import type { ContainersToStart } from '../compute-pod-actions/index.ts';
import { backoffKey, computeBackoffDecision } from '../crash-loop-backoff.ts';
import type { TaskContext } from '../dependencies.ts';
import { formatPod } from '../format-pod.ts';
import type { SyncReport } from '../sync-report.ts';
import type { PreparedContainer } from './prepare-first-container.ts';
import type { Sandbox } from './prepare-sandbox.ts';
import { readPullSecrets, reportMissingSecrets } from './pull-secrets.ts';
import { reportStaleStatus } from './stale-status.ts';
import { startContainer, type ContainerStart } from './start-container.ts';

type ContainerType = 'ephemeral_container' | 'init_container' | 'container';

/** Starts the containers in upstream's order. Rejects with Stopped only; failures go to the report. */
export async function startContainers(
  context: TaskContext,
  task: SyncPodTask,
  actions: ContainersToStart,
  { sandbox, firstContainer }: { readonly sandbox: Sandbox; readonly firstContainer: PreparedContainer | undefined },
  report: SyncReport,
): Promise<void> {
  const { spec } = task.pod;
  const pullSecrets = await (firstContainer?.pullSecrets ?? readPullSecrets(context, task.pod));
  const start = async (kind: ContainerType, container: Container | EphemeralContainer) => {
    const prepared = firstContainer?.container === container.name ? firstContainer : undefined;
    // A container whose config was prepared without the pod's IPs does not wait for them. The others cannot start without.
    if (!prepared?.hasConfig && !(await sandbox.podIPs)) return false;
    return startWithBackoff(context, task, kind, container, { ...sandbox, pullSecrets: pullSecrets.found, prepared }, report);
  };
  try {
    await startInOrder(spec, actions, start);
  } finally {
    if (report.hasFailure('ErrImagePull')) reportMissingSecrets(context, pullSecrets);
  }
}

async function startInOrder(
  spec: PodSpec,
  actions: ContainersToStart,
  start: (kind: ContainerType, container: Container | EphemeralContainer) => Promise<boolean>,
): Promise<void> {
  for (const container of findByNames(spec.ephemeralContainers, actions.ephemeralContainersToStart))
    await start('ephemeral_container', container);
  for (const container of findByNames(spec.initContainers, actions.initContainersToStart)) {
    // All containers after an init container depend on it.
    if (!(await start('init_container', container)) && !isRestartableInitContainer(container)) return;
  }
  for (const container of findByNames(spec.containers, actions.containersToStart)) await start('container', container);
}

function findByNames<C extends { readonly name: string }>(containers: readonly C[] | undefined, names: readonly string[]): C[] {
  return names.flatMap((name) => containers?.filter((container) => container.name === name) ?? []);
}

async function startWithBackoff(
  context: TaskContext,
  { pod, status, backoffs }: SyncPodTask,
  kind: ContainerType,
  container: Container | EphemeralContainer,
  {
    id: sandboxID,
    config: sandboxConfig,
    podIPs,
    hostInfo,
    pullSecrets,
    prepared,
  }: Sandbox & Pick<ContainerStart, 'pullSecrets' | 'prepared'>,
  report: SyncReport,
): Promise<boolean> {
  const { clock, settings, events, channel, identity, logger } = context;
  const { name } = container;
  channel.signal.throwIfAborted();
  const decision = computeBackoffDecision({
    key: backoffKey(pod, container),
    exited: status?.containers.find((one) => one.name === name && one.state === 'exited'),
    backoffs,
    nowMs: clock.now(),
    limits: { initialMs: settings.initialContainerBackOffMs, maxMs: settings.maxContainerBackOffMs },
  });
  if (decision.wait) {
    events.onContainer(name, 'Warning', 'BackOff', `Back-off restarting failed container ${name} in pod ${formatPod(identity)}`);
    const message = `back-off ${goDuration(decision.backoffMs)} restarting failed container=${name} pod=${formatPod(identity)}`;
    report.fail({ action: 'StartContainer', target: name, reason: crashLoopBackOff, message });
    report.retryAt(decision.untilMs);
    return false;
  }
  if (decision.backoff) report.setBackoff(decision.backoff);
  startedContainers.inc({ container_type: kind });
  try {
    const request = {
      pod,
      container,
      status,
      sandboxID,
      sandboxConfig,
      podIPs,
      hostInfo,
      pullSecrets,
      prepared,
      restartBackOff: decision.backoff,
    };
    await startContainer(context, request, (id) => report.addContainer({ id, sandboxID, name }));
    return true;
  } catch (err) {
    channel.signal.throwIfAborted();
    if (reportStaleStatus(context, err, report)) return false;
    const { reason, retryAfterMs } = err instanceof KubeletError ? err : new KubeletError('RunContainerError', messageOf(err));
    const message = err instanceof Error ? err.message : String(err);
    startedContainersErrors.inc({ container_type: kind, code: reason });
    report.fail({ action: 'StartContainer', target: name, reason, message });
    if (retryAfterMs !== undefined) report.retryAt(clock.now() + retryAfterMs);
    // The start of the pull back-off was logged already.
    logger[reason === imagePullBackOff ? 'debug' : 'warn']({ container: name, reason, message }, 'cannot start a container');
    return false;
  }
}
