/** Makes ready what a pod's containers are started in: its sandbox, with its config and its addresses. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { CreatedSandbox } from '../../../shared/contracts/pod-sync/result.ts';
import type { SyncPodTask } from '../../../shared/contracts/pod-sync/task.ts';
import { sandboxIPs } from '../../../shared/cri/sandbox-ips.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { SandboxID } from '../../../shared/kubernetes/ids.ts';
import {
  startedPods,
  startedPodsErrors,
  startedUserNamespacedPods,
  startedUserNamespacedPodsErrors,
} from '../../../shared/metrics/definitions/pod-sync.ts';
import type { PodActions } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { formatPod } from '../format-pod.ts';
import { rpcErrorOf } from '../pod-runtime.ts';
import { checkSysctls, makeSandboxConfig, type HostInfo } from '../runtime-config/index.ts';
import type { SyncReport } from '../sync-report.ts';
import { createSandbox } from './create-sandbox.ts';
import { ensureCgroup, isCgroupFailure } from './ensure-cgroup.ts';
import type { PreparedContainer } from './prepare-first-container.ts';
import { reportStaleStatus } from './stale-status.ts';

export interface Sandbox {
  readonly id: SandboxID;
  readonly config: ReturnType<typeof makeSandboxConfig>['config'];
  /** Undefined: they could not be had, and the report says why. Rejects with Stopped. */
  readonly podIPs: Promise<readonly string[] | undefined>;
  readonly hostInfo: HostInfo;
}

/**
 * The sandbox that containers are started in: the one that is there, or a new one. Undefined when it could not be had: the report says why.
 * Rejects with Stopped, or when the pod's cgroup can't be made.
 */
export async function prepareSandbox(
  context: TaskContext,
  { pod, status, apiStatus }: SyncPodTask,
  actions: PodActions,
  { hostInfo: hostInfoRead, ahead }: { readonly hostInfo: Promise<HostInfo>; readonly ahead: PreparedContainer | undefined },
  report: SyncReport,
): Promise<Sandbox | undefined> {
  const { settings, node, cgroups, events, channel, identity } = context;
  const create = actions.createSandbox;
  const ownUsers = pod.spec.hostUsers === false;
  if (create) startedPods.inc();
  if (create && ownUsers) startedUserNamespacedPods.inc();
  try {
    const hostInfo = await hostInfoRead;
    const cgroupParent = cgroups.cgroupParent(pod);
    const { config, warnings } = makeSandboxConfig({ pod, node, settings, hostInfo, attempt: actions.attempt, cgroupParent });
    if (!create) {
      await ensureCgroup(context, pod);
      return { id: actions.sandboxID!, config, podIPs: Promise.resolve(podIPsOf(status, apiStatus)), hostInfo };
    }
    const forbidden = checkSysctls(pod, settings.allowedUnsafeSysctls, hostInfo.kernelVersion);
    if (forbidden !== null) {
      events.onPod('Warning', 'SysctlForbidden', forbidden);
      report.fail({ action: 'ConfigPodSandbox', target: formatPod(identity), reason: 'SysctlForbidden', message: forbidden });
      return undefined;
    }
    for (const { about: object, reason, message } of warnings) {
      if (object === 'node') events.onNode(node.nodeName, 'Warning', reason, message);
      else events.onPod('Warning', reason, message);
    }
    const id = await createSandbox(context, pod, config, () => ahead?.isReady() ?? false);
    const made = { id, podName: identity.name, podNamespace: identity.namespace };
    report.madeSandbox(made);
    // The request for a container that need not wait for them goes first.
    const podIPs = pod.spec.hostNetwork
      ? Promise.resolve(podIPsOf(status, apiStatus))
      : nextIteration().then(() => askForIPs(context, made, report));
    podIPs.catch(() => {});
    return { id, config, podIPs, hostInfo };
  } catch (err) {
    // It may be there even so: the runtime may have failed after it was made.
    if (create) report.mayHaveMadeMore();
    channel.signal.throwIfAborted();
    if (isCgroupFailure(err)) throw err;
    if (reportStaleStatus(context, err, report)) return undefined;
    if (!create) {
      const message = `GeneratePodSandboxConfig for pod "${formatPod(identity)}" failed: ${messageOf(err)}`;
      report.fail({ action: 'ConfigPodSandbox', target: formatPod(identity), reason: 'ConfigPodSandboxError', message });
      return undefined;
    }
    startedPodsErrors.inc();
    if (ownUsers) startedUserNamespacedPodsErrors.inc();
    events.onPod('Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${rpcErrorOf(err)}`);
    const message = `Failed to create sandbox for pod "${formatPod(identity)}": ${rpcErrorOf(err)}`;
    report.fail({ action: 'CreatePodSandbox', target: formatPod(identity), reason: 'CreatePodSandboxError', message });
    return undefined;
  }
}

async function askForIPs(
  { runtime, events, channel, identity }: TaskContext,
  made: CreatedSandbox,
  report: SyncReport,
): Promise<string[] | undefined> {
  try {
    const status = await runtime.podSandboxStatus(made.id);
    report.madeSandbox({ ...made, status });
    return sandboxIPs(status);
  } catch (err) {
    channel.signal.throwIfAborted();
    const message = `Unable to get pod sandbox status: ${rpcErrorOf(err)}`;
    events.onPod('Warning', 'FailedPodSandBoxStatus', message);
    report.fail({ action: 'CreatePodSandbox', target: formatPod(identity), reason: 'FailedPodSandBoxStatus', message });
    return undefined;
  }
}

/** Those that the API shows, which for a pod in the host's network are the node's. */
function podIPsOf(status: SyncPodTask['status'], { podIPs, podIP }: SyncPodTask['apiStatus']): readonly string[] {
  const shown = podIPs?.map(({ ip }) => ip) ?? [];
  if (shown.length > 0) return shown;
  return podIP ? [podIP] : (status?.podIPs ?? []);
}
