/** The KubeletConfiguration file for `npm run up`. */
import type { UpPaths } from './up-paths.ts';

export function kubeletConfigText(paths: UpPaths, runtimeEndpoint: string): string {
  return `# Written by npm run up.
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
staticPodPath: ${paths.examples}
containerRuntimeEndpoint: ${runtimeEndpoint}
registerNode: false
address: 127.0.0.1
readOnlyPort: ${paths.readOnlyPort}
healthzPort: ${paths.healthzPort}
podLogsDir: ${paths.podLogs}
cgroupDriver: cgroupfs
failCgroupV1: false
# The chains would stay in the host's packet filter after npm run down.
makeIPTablesUtilChains: false
# Upstream's defaults, 10 % and 15 % of the disks, would evict the examples on many people's hosts.
evictionHard:
  memory.available: 100Mi
  nodefs.available: 1%
  nodefs.inodesFree: 1%
  imagefs.available: 1%
  imagefs.inodesFree: 1%
${
  paths.simulate
    ? `# The simulated runtime creates no cgroups and needs no root.
cgroupsPerQOS: false
enforceNodeAllocatable: []`
    : `cgroupRoot: ${paths.cgroupRoot}`
}
`;
}
