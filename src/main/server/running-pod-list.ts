/**
 * The body of `/runningpods/`: every pod that runs in the runtime, also without a source. Contains only what the runtime knows: names and
 * images. Upstream: GetRunningPods and Pod.ToAPIPod of pkg/kubelet/container.
 */
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';

/** Returns a v1 PodList as JSON: every pod with a running container or a ready sandbox. */
export function runningPodListJson(pods: Iterable<RuntimePodStatus>): string {
  const items = [...pods].filter(isRunning).map(({ podUID, name, namespace, containers }) => ({
    metadata: { name, namespace, uid: podUID },
    spec: {
      containers: containers
        .filter((container) => container.state === 'running')
        .map((container) => ({ name: container.name, image: container.image, resources: {} })),
    },
    status: {},
  }));
  return JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items });
}

function isRunning({ containers, sandboxes }: RuntimePodStatus): boolean {
  return containers.some(({ state }) => state === 'running') || sandboxes.some(({ state }) => state === 'ready');
}
