/** Prepares the sandbox that a pod's containers are started in: its config, the sandbox itself and its IPs. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { CreatedSandbox } from '../../../../shared/contracts/pod-sync/result.ts';
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import { sandboxIPs } from '../../../../shared/cri/sandbox-ips.ts';
import { KubeletError, messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { SandboxID } from '../../../../shared/kubernetes/ids.ts';
import { startedPods, startedPodsErrors, startedUserNamespacedPods } from '../../../../shared/metrics/definitions/pod-sync.ts';
import type { ContainersToStart } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { formatPod } from '../format-pod.ts';
import { inPhase } from '../in-phase.ts';
import { rpcErrorOf } from '../pod-runtime.ts';
import { checkSysctls, makeSandboxConfig, type HostInfo } from '../runtime-config/index.ts';
import type { SyncReport } from '../sync-report.ts';
import { createSandbox } from './create-sandbox.ts';
import { dynamicResourcesProblem } from './dynamic-resources.ts';
import { ensureCgroup, isCgroupFailure } from './ensure-cgroup.ts';
import type { PreparedContainer } from './prepare-first-container.ts';
import { reportStaleStatus } from './stale-status.ts';

export interface Sandbox {
  readonly id: SandboxID;
  readonly config: ReturnType<typeof makeSandboxConfig>['config'];
  /** Undefined when the IPs could not be read; the report has the reason. Rejects with Stopped. */
  readonly podIPs: Promise<readonly string[] | undefined>;
  readonly hostInfo: HostInfo;
}

/**
 * Returns the existing sandbox or a new one. Undefined when no sandbox could be prepared; the report has the reason. Rejects with Stopped, or when the
 * pod's cgroup cannot be created.
 */
export async function prepareSandbox(
  context: TaskContext,
  { pod, status, apiStatus }: SyncPodTask,
  actions: ContainersToStart,
  {
    hostInfo: hostInfoRead,
    firstContainer,
  }: { readonly hostInfo: Promise<HostInfo>; readonly firstContainer: PreparedContainer | undefined },
  report: SyncReport,
): Promise<Sandbox | undefined> {
  const { settings, node, cgroups, events, channel, identity, allocation } = context;
  const create = actions.createSandbox;
  const unprepared = dynamicResourcesProblem(pod);
  if (unprepared !== null) {
    const message = `Failed to prepare dynamic resources: ${unprepared}`;
    events.onPod('Warning', 'FailedPrepareDynamicResources', message);
    report.fail({ action: 'ConfigPodSandbox', target: formatPod(identity), reason: 'FailedPrepareDynamicResources', message });
    return undefined;
  }
  if (create) startedPods.inc();
  if (create && pod.spec.hostUsers === false) startedUserNamespacedPods.inc();
  try {
    const hostInfo = await hostInfoRead;
    const cgroupParent = cgroups.cgroupParent(pod);
    const { config, warnings } = makeSandboxConfig({
      pod,
      node,
      settings,
      hostInfo,
      userNamespace: allocation.userNamespace,
      attempt: actions.attempt,
      cgroupParent,
    });
    if (!create) {
      await ensureCgroup(context, pod);
      return { id: actions.sandboxID!, config, podIPs: Promise.resolve(knownPodIPs(status, apiStatus)), hostInfo };
    }
    const forbidden = checkSysctls(pod, settings.allowedUnsafeSysctls, hostInfo.kernelVersion);
    if (forbidden !== null) {
      events.onPod('Warning', 'SysctlForbidden', forbidden);
      report.fail({ action: 'ConfigPodSandbox', target: formatPod(identity), reason: 'SysctlForbidden', message: forbidden });
      return undefined;
    }
    for (const { object, reason, message } of warnings) {
      if (object === 'node') events.onNode(node.nodeName, 'Warning', reason, message);
      else events.onPod('Warning', reason, message);
    }
    const id = await inPhase(context, 'Sandbox', {}, () => createSandbox(context, pod, config, () => firstContainer?.isReady() ?? false));
    const created = { id, podName: identity.name, podNamespace: identity.namespace };
    report.addSandbox(created);
    // Waits one iteration of the event loop: if a container's config does not need the IPs, its creation is requested first.
    const podIPs = pod.spec.hostNetwork
      ? Promise.resolve(knownPodIPs(status, apiStatus))
      : nextIteration().then(() => readSandboxIPs(context, created, report));
    podIPs.catch(() => {});
    return { id, config, podIPs, hostInfo };
  } catch (err) {
    // The runtime may have failed after it had created the sandbox.
    if (create) report.forgetCreated();
    channel.signal.throwIfAborted();
    if (isCgroupFailure(err)) throw err;
    if (reportStaleStatus(context, err, report)) return undefined;
    if (!create) {
      const message = `GeneratePodSandboxConfig for pod "${formatPod(identity)}" failed: ${messageOf(err)}`;
      report.fail({ action: 'ConfigPodSandbox', target: formatPod(identity), reason: 'ConfigPodSandboxError', message });
      return undefined;
    }
    startedPodsErrors.inc();
    events.onPod('Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${rpcErrorOf(err)}`);
    const failed = err instanceof KubeletError ? 'Failed to generate sandbox config' : 'Failed to create sandbox';
    const message = `${failed} for pod "${formatPod(identity)}": ${rpcErrorOf(err)}`;
    report.fail({ action: 'CreatePodSandbox', target: formatPod(identity), reason: 'CreatePodSandboxError', message });
    return undefined;
  }
}

async function readSandboxIPs(
  { runtime, events, channel, identity }: TaskContext,
  created: CreatedSandbox,
  report: SyncReport,
): Promise<string[] | undefined> {
  try {
    const status = await runtime.podSandboxStatus(created.id);
    report.addSandbox({ ...created, status });
    return sandboxIPs(status);
  } catch (err) {
    channel.signal.throwIfAborted();
    const message = `Unable to get pod sandbox status: ${rpcErrorOf(err)}`;
    events.onPod('Warning', 'FailedPodSandBoxStatus', message);
    report.fail({ action: 'CreatePodSandbox', target: formatPod(identity), reason: 'FailedPodSandBoxStatus', message });
    return undefined;
  }
}

/** Returns the IPs of the API status. For a pod in the host's network these are the node's. */
function knownPodIPs(status: SyncPodTask['status'], { podIPs, podIP }: SyncPodTask['apiStatus']): readonly string[] {
  const inAPIStatus = podIPs?.map(({ ip }) => ip) ?? [];
  if (inAPIStatus.length > 0) return inAPIStatus;
  return podIP ? [podIP] : (status?.podIPs ?? []);
}
