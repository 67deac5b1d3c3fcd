/** The kubelet's configuration for `npm run cluster`: an ordinary KubeletConfiguration file, left in the folder for people to read. */
import { stringify } from 'yaml';
import type { ClusterMember } from '../host/control-plane-member.ts';
import { place } from './cluster-paths.ts';

export function kubeletConfigText(member: ClusterMember, runtimeEndpoint: string): string {
  return `# Written by npm run cluster.
${stringify({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  ...member.configuration,
  containerRuntimeEndpoint: runtimeEndpoint,
  staticPodPath: place.staticPods,
  podLogsDir: place.podLogs,
  healthzPort: place.healthzPort,
  cgroupDriver: 'cgroupfs',
  cgroupRoot: place.cgroupRoot,
  failCgroupV1: false,
  failSwapOn: false,
})}`;
}
