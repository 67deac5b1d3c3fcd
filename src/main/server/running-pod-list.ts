/**
 * The list of `/runningpods/`: every pod that runs in the runtime, also without a source. Contains only what the runtime knows: names and
 * images. Upstream: GetRunningPods and Pod.ToAPIPod of pkg/kubelet/container.
 */
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { PodList } from './pod-lists.ts';

export interface RuntimeStatuses {
  all(): Iterable<RuntimePodStatus>;
  get(uid: PodUID): RuntimePodStatus | null;
}

/** Every pod with a running container or a ready sandbox. */
export function runningPodList(statuses: RuntimeStatuses): PodList {
  return {
    uids: () => [...statuses.all()].filter(isRunning).map(({ podUID }) => podUID),
    find: () => (uid) => {
      const status = statuses.get(uid);
      return status && isRunning(status) ? toApiPod(status) : undefined;
    },
  };
}

function toApiPod({ podUID, name, namespace, containers }: RuntimePodStatus): object {
  return {
    metadata: { name, namespace, uid: podUID },
    spec: {
      containers: containers
        .filter((container) => container.state === 'running')
        .map((container) => ({ name: container.name, image: container.image, resources: {} })),
    },
    status: {},
  };
}

function isRunning({ containers, sandboxes }: RuntimePodStatus): boolean {
  return containers.some(({ state }) => state === 'running') || sandboxes.some(({ state }) => state === 'ready');
}
