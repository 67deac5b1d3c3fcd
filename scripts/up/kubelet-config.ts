/** The kubelet's configuration for `npm run up`: an ordinary KubeletConfiguration file, left in the folder for people to read. */
import type { Place } from './up-paths.ts';

export function kubeletConfigText(place: Place, runtimeEndpoint: string): string {
  return `# Written by npm run up.
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
staticPodPath: ${place.examples}
containerRuntimeEndpoint: ${runtimeEndpoint}
registerNode: false
address: 127.0.0.1
readOnlyPort: ${place.readOnlyPort}
healthzPort: ${place.healthzPort}
podLogsDir: ${place.podLogs}
cgroupDriver: cgroupfs
failCgroupV1: false
${
  place.simulate
    ? `# The simulated runtime makes no cgroups, and needs no root to do so.
cgroupsPerQOS: false
enforceNodeAllocatable: []`
    : `cgroupRoot: ${place.cgroupRoot}`
}
`;
}
