/**
 * What the runtime is asked to make of a pod: its sandbox's config and each container's. Pure: every input is an argument; what the
 * host must be asked (resolv.conf, huge page sizes, …) is read beforehand by `HostInfoReader`. Called by the steps of a sync.
 * After upstream's pkg/kubelet/kuberuntime and pkg/kubelet/kubelet_pods.go.
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
export { envFileKey, makeEnvironment } from './environment.ts';
export { usesPodIPs } from './downward-api-fields.ts';
export { readEnvironmentObjects } from './environment-objects.ts';
export { makeContainerConfig } from './container-config.ts';
export { checkSysctls } from '../../../shared/kubernetes/sysctls.ts';
