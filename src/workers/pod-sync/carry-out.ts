/**
 * Carries out the actions that a pod needs, in upstream's order (kuberuntime_manager.go SyncPod): kill what must go, make the sandbox, start
 * ephemeral, init and regular containers. What fails is reported; a container's failure stops only those that need it.
 */
import type { SyncPodTask } from '../../shared/contracts/pod-sync.ts';
import { KubeletError, messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Container, EphemeralContainer } from '../../shared/kubernetes/api.ts';
import type { SandboxID } from '../../shared/kubernetes/ids.ts';
import { isRestartableInitContainer } from '../../shared/kubernetes/restart-policy.ts';
import type { PodActions } from './compute-pod-actions/index.ts';
import { backoffKey, decideBackoff, goDuration } from './crash-loop-backoff.ts';
import type { TaskContext } from './dependencies.ts';
import { formatPod } from './events.ts';
import { podIPForHooks } from './hooks/run-hook.ts';
import { killContainer } from './kill/kill-container.ts';
import { killPod } from './kill/kill-pod.ts';
import { startedContainers, startedContainersErrors, startedPods, startedPodsErrors } from '../../shared/metrics/definitions/pod-sync.ts';
import { rpcErrorOf } from './runtime/pod-runtime.ts';
import { checkSysctls, makeSandboxConfig, type HostFacts } from './runtime-config/index.ts';
import { createSandbox } from './start/create-sandbox.ts';
import { removeContainer } from './start/link-log.ts';
import { StaleStatus, staleStatusRetryMs } from './start/stale-status.ts';
import { startContainer } from './start/start-container.ts';
import type { SyncReport } from './sync-report.ts';

/** Rejects with Stopped; all other failures are in the report. */
export async function carryOut(context: TaskContext, task: SyncPodTask, actions: PodActions, report: SyncReport): Promise<void> {
  const { line, events } = context;
  if (actions.createSandbox && actions.sandboxID !== undefined) {
    events.onPod('Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.');
  }
  const cleared = actions.killPod ? await killWhole(context, task, actions, report) : await killSome(context, task, actions, report);
  if (!cleared) return;
  await pruneInitContainers(context, task);
  line.signal.throwIfAborted();

  const starts = [...actions.ephemeralContainersToStart, ...actions.initContainersToStart, ...actions.containersToStart];
  report.startOver();
  if (!actions.createSandbox && starts.length === 0) return;
  const sandbox = await prepareSandbox(context, task, actions, report);
  if (sandbox) await startContainers(context, task, actions, sandbox, report);
}

/** Answers whether to go on. */
async function killWhole(context: TaskContext, { pod, status }: SyncPodTask, actions: PodActions, report: SyncReport): Promise<boolean> {
  if (!status) return true;
  if (status.sandboxes.length > 0 || status.containers.length > 0) report.changedRuntime = true;
  const failures = await killPod(context, status, null);
  for (const failure of failures) report.fail(failure);
  if (failures.length > 0) return false;
  if (!actions.createSandbox) return true;
  // A new sandbox begins anew: the traces of the init containers would say that they have run.
  const init = new Set(pod.spec.initContainers?.map(({ name }) => name));
  await remove(
    context,
    status.containers.filter(({ name }) => init.has(name)),
  );
  return true;
}

async function killSome(context: TaskContext, { status }: SyncPodTask, actions: PodActions, report: SyncReport): Promise<boolean> {
  const podIP = podIPForHooks(context, status?.podIPs ?? []);
  for (const { id, name, message, reason } of actions.containersToKill) {
    report.changedRuntime = true;
    const orphan = status?.containers.find((container) => container.id === id)?.orphan;
    try {
      await killContainer(context, { id, name, message, reason, graceOverrideSeconds: null, podIP, ...(orphan && { orphan }) });
    } catch (err) {
      context.line.signal.throwIfAborted();
      report.fail({ action: 'KillContainer', target: name, reason: 'KillContainerError', message: rpcErrorOf(err) });
      return false;
    }
  }
  for (const { id, name, kill } of actions.containersToReset) {
    report.changedRuntime = true;
    try {
      if (kill)
        await killContainer(context, { id, name, message: 'killing', reason: 'RestartAllContainers', graceOverrideSeconds: 0, podIP });
      await removeContainer(context, { id, name, logPath: '' }, true);
    } catch (err) {
      context.line.signal.throwIfAborted();
      report.fail({ action: 'RemoveContainer', target: name, reason: 'RemoveContainerError', message: rpcErrorOf(err) });
      return false;
    }
  }
  // All begins again as soon as it is seen that they are gone.
  if (actions.containersToReset.length > 0) report.retryAt(context.clock.now());
  return true;
}

/** Only the last instance of an init container is kept: collection would let too many pile up in a crash loop. */
async function pruneInitContainers(context: TaskContext, { pod, status }: SyncPodTask): Promise<void> {
  for (const { name } of pod.spec.initContainers ?? []) {
    const dead = status?.containers.filter(
      (container) => container.name === name && (container.state === 'exited' || container.state === 'unknown'),
    );
    await remove(context, dead?.slice(1) ?? []);
  }
}

/** A container that cannot be removed is left to collection. */
async function remove(context: TaskContext, containers: NonNullable<SyncPodTask['status']>['containers']): Promise<void> {
  for (const container of containers) {
    await removeContainer(context, container, false).catch((err: unknown) => {
      context.logger.warn({ err, container: container.name, containerID: container.id }, 'cannot remove an init container');
    });
  }
}

interface Sandbox {
  readonly id: SandboxID;
  readonly config: ReturnType<typeof makeSandboxConfig>['config'];
  readonly podIPs: readonly string[];
  readonly host: HostFacts;
}

async function prepareSandbox(
  context: TaskContext,
  { pod, status, apiStatus }: SyncPodTask,
  actions: PodActions,
  report: SyncReport,
): Promise<Sandbox | undefined> {
  const { settings, node, cgroups, events, line, about } = context;
  const create = actions.createSandbox;
  if (create) startedPods.inc();
  try {
    const host = await context.host.read();
    const cgroupParent = cgroups.parentOf(pod);
    const { config, warnings } = makeSandboxConfig({ pod, node, settings, host, attempt: actions.attempt, cgroupParent });
    if (!create) return { id: actions.sandboxID!, config, podIPs: podIPsOf(status, apiStatus), host };
    const forbidden = checkSysctls(pod, settings.allowedUnsafeSysctls, host.kernelVersion);
    if (forbidden !== null) {
      events.onPod('Warning', 'SysctlForbidden', forbidden);
      report.fail({ action: 'ConfigPodSandbox', target: formatPod(about), reason: 'SysctlForbidden', message: forbidden });
      return undefined;
    }
    for (const { reason, message } of warnings) events.onPod('Warning', reason, message);
    const id = await createSandbox(context, pod, config);
    report.changedRuntime = true;
    const podIPs = pod.spec.hostNetwork ? podIPsOf(status, apiStatus) : await sandboxIPs(context, id, report);
    return podIPs && { id, config, podIPs, host };
  } catch (err) {
    line.signal.throwIfAborted();
    // It may be there even so: the runtime may have failed after it was made.
    report.changedRuntime = true;
    if (isStale(context, err, report)) return undefined;
    if (!create) {
      const message = `GeneratePodSandboxConfig for pod "${formatPod(about)}" failed: ${messageOf(err)}`;
      report.fail({ action: 'ConfigPodSandbox', target: formatPod(about), reason: 'ConfigPodSandboxError', message });
      return undefined;
    }
    startedPodsErrors.inc();
    events.onPod('Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${rpcErrorOf(err)}`);
    const message = `Failed to create sandbox for pod "${formatPod(about)}": ${rpcErrorOf(err)}`;
    report.fail({ action: 'CreatePodSandbox', target: formatPod(about), reason: 'CreatePodSandboxError', message });
    return undefined;
  }
}

/** Not a failure: main looks again. */
function isStale({ clock, logger }: TaskContext, err: unknown, report: SyncReport): boolean {
  if (!(err instanceof StaleStatus)) return false;
  logger.info({ why: err.message }, 'sync ends early');
  report.changedRuntime = true;
  report.retryAt(clock.now() + staleStatusRetryMs);
  return true;
}

async function sandboxIPs({ runtime, events, line, about }: TaskContext, id: SandboxID, report: SyncReport): Promise<string[] | undefined> {
  try {
    return await runtime.podSandboxIPs(id);
  } catch (err) {
    line.signal.throwIfAborted();
    const message = `Unable to get pod sandbox status: ${rpcErrorOf(err)}`;
    events.onPod('Warning', 'FailedPodSandBoxStatus', message);
    report.fail({ action: 'CreatePodSandbox', target: formatPod(about), reason: 'FailedPodSandBoxStatus', message });
    return undefined;
  }
}

/** Those that the API shows, which for a pod in the host's network are the node's. */
function podIPsOf(status: SyncPodTask['status'], { podIPs, podIP }: SyncPodTask['apiStatus']): readonly string[] {
  const shown = podIPs?.map(({ ip }) => ip) ?? [];
  if (shown.length > 0) return shown;
  return podIP ? [podIP] : (status?.podIPs ?? []);
}

type Kind = 'ephemeral_container' | 'init_container' | 'container';

async function startContainers(
  context: TaskContext,
  task: SyncPodTask,
  actions: PodActions,
  sandbox: Sandbox,
  report: SyncReport,
): Promise<void> {
  const { spec } = task.pod;
  const start = (kind: Kind, container: Container | EphemeralContainer) => startOne(context, task, kind, container, sandbox, report);
  for (const container of named(spec.ephemeralContainers, actions.ephemeralContainersToStart))
    await start('ephemeral_container', container);
  for (const container of named(spec.initContainers, actions.initContainersToStart)) {
    // The next init container, and all others, need it.
    if (!(await start('init_container', container)) && !isRestartableInitContainer(container)) return;
  }
  for (const container of named(spec.containers, actions.containersToStart)) await start('container', container);
}

function named<C extends { readonly name: string }>(containers: readonly C[] | undefined, names: readonly string[]): C[] {
  return names.flatMap((name) => containers?.filter((container) => container.name === name) ?? []);
}

async function startOne(
  context: TaskContext,
  { pod, status, backoffs }: SyncPodTask,
  kind: Kind,
  container: Container | EphemeralContainer,
  { id: sandboxID, config: sandboxConfig, podIPs, host }: Sandbox,
  report: SyncReport,
): Promise<boolean> {
  const { clock, settings, events, line, about, logger } = context;
  const { name } = container;
  line.signal.throwIfAborted();
  const decision = decideBackoff({
    key: backoffKey(pod, container),
    exited: status?.containers.find((one) => one.name === name && one.state === 'exited'),
    backoffs,
    nowMs: clock.now(),
    limits: { initialMs: settings.initialContainerBackOffMs, maxMs: settings.maxContainerBackOffMs },
  });
  if (decision.wait) {
    events.onContainer(name, 'Warning', 'BackOff', `Back-off restarting failed container ${name} in pod ${formatPod(about)}`);
    const message = `back-off ${goDuration(decision.backoffMs)} restarting failed container=${name} pod=${formatPod(about)}`;
    report.fail({ action: 'StartContainer', target: name, reason: 'CrashLoopBackOff', message });
    report.retryAt(decision.untilMs);
    return false;
  }
  if (decision.backoff) report.backoff(decision.backoff);
  startedContainers.inc({ container_type: kind });
  try {
    const request = { pod, container, status, sandboxID, sandboxConfig, podIPs, host };
    await startContainer(context, request, () => {
      report.changedRuntime = true;
    });
    return true;
  } catch (err) {
    line.signal.throwIfAborted();
    if (isStale(context, err, report)) return false;
    const { reason, retryAfterMs } = err instanceof KubeletError ? err : new KubeletError('RunContainerError', messageOf(err));
    const message = err instanceof Error ? err.message : String(err);
    startedContainersErrors.inc({ container_type: kind, code: reason });
    report.fail({ action: 'StartContainer', target: name, reason, message });
    if (retryAfterMs !== undefined) report.retryAt(clock.now() + retryAfterMs);
    // A wait that goes on was logged when it began.
    logger[reason === 'ImagePullBackOff' ? 'debug' : 'warn']({ container: name, reason, message }, 'cannot start a container');
    return false;
  }
}
