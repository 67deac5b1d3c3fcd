/** The KubeletConfiguration file for `npm run cluster`. */
import { stringify } from 'yaml';
import type { ClusterMember } from '../../lab/control-plane/control-plane-member.ts';
import { clusterPaths } from './cluster-paths.ts';

export function kubeletConfigText(member: ClusterMember, runtimeEndpoint: string): string {
  return `# Written by npm run cluster.
${stringify({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  ...member.configuration,
  containerRuntimeEndpoint: runtimeEndpoint,
  staticPodPath: clusterPaths.staticPods,
  podLogsDir: clusterPaths.podLogs,
  healthzPort: clusterPaths.healthzPort,
  cgroupDriver: 'cgroupfs',
  cgroupRoot: clusterPaths.cgroupRoot,
  failCgroupV1: false,
  // The chains would stay in the host's packet filter after the cluster is down.
  makeIPTablesUtilChains: false,
  failSwapOn: false,
  // Upstream's defaults, 10 % and 15 % of the disks, would evict all pods on many people's hosts.
  evictionHard: {
    'memory.available': '100Mi',
    'nodefs.available': '1%',
    'nodefs.inodesFree': '1%',
    'imagefs.available': '1%',
    'imagefs.inodesFree': '1%',
  },
})}`;
}
