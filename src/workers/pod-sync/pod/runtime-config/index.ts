/**
 * Makes the CRI configs of a pod's sandbox and containers. Pure, except for `HostInfoReader`, which reads the host's properties (resolv.conf,
 * huge page sizes, …) beforehand. Called by the steps of a sync. Follows upstream's pkg/kubelet/kuberuntime and pkg/kubelet/kubelet_pods.go.
 */
export type {
  ConfigWarning,
  ContainerConfigInput,
  EnvironmentInput,
  EnvironmentObjects,
  EnvValue,
  HostInfo,
  ImageUser,
  PodConfigInput,
  SandboxConfigInput,
} from './config-inputs.ts';
export { HostInfoReader } from './host-info.ts';
export { makeSandboxConfig, type SandboxConfig } from './sandbox-config.ts';
export { envFileKey, makeEnvironment } from './make-environment.ts';
export { usesPodIPs } from './downward-api-fields.ts';
export { readEnvironmentObjects } from './environment-objects.ts';
export { expandedLength, makeContainerConfig } from './container-config.ts';
export { checkSysctls } from '../../../../shared/kubernetes/sysctls.ts';
export { containerResources, sandboxResources } from './linux-resources.ts';
