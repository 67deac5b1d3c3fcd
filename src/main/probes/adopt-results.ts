/**
 * Reads the results of probes from the status that an earlier kubelet reported: a container that was ready, or had started up, still is until its
 * probe says otherwise. Pure. Upstream without the gate ChangeContainerStatusOnKubeletRestart: setReadyStateOnKubeletRestart in
 * prober_manager.go, and newWorker's results in worker.go, which guess from the time of the start and from the pod's condition Ready.
 */
import type { ProbeType } from '../../shared/contracts/probes.ts';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { Pod, PodStatus } from '../../shared/kubernetes/api.ts';
import type { ContainerID } from '../../shared/kubernetes/ids.ts';
import { probedContainers } from './to-probed-pod.ts';

export interface AdoptedResult {
  readonly id: ContainerID;
  readonly probe: ProbeType;
}

/** Returns the probes that succeeded for containers that still run. */
export function succeededBefore(pod: Pod, status: RuntimePodStatus | null, reported: PodStatus): AdoptedResult[] {
  const reportedStatuses = [...(reported.containerStatuses ?? []), ...(reported.initContainerStatuses ?? [])];
  return probedContainers(pod).flatMap((container) => {
    const instance = status?.containers.find(({ name }) => name === container.name);
    const before = reportedStatuses.find(({ name }) => name === container.name);
    if (instance?.state !== 'running' || !before?.containerID?.endsWith(`://${instance.id}`)) return [];
    const { id } = instance;
    const started = before.started ?? false;
    return [
      ...(container.startupProbe && started ? [{ id, probe: 'startup' } as const] : []),
      ...(container.readinessProbe && before.ready ? [{ id, probe: 'readiness' } as const] : []),
    ];
  });
}
