/** Makes the CRI config of a sandbox (upstream kuberuntime_sandbox.go, generatePodSandboxConfig). */
import {
  type LinuxPodSandboxConfig,
  type PodSandboxConfig,
  SecurityProfile_ProfileType as ProfileType,
} from '../../../../shared/cri/generated/cri-v1.ts';
import { KubeletError, messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../../shared/kubernetes/api.ts';
import { podLogsDirectory } from '../../../../shared/kubernetes/paths.ts';
import { computePodDNS } from './pod-dns.ts';
import { kernelHostname, computePodHostname } from './hostname.ts';
import { sandboxMetadata } from './runtime-labels.ts';
import { sandboxResources } from './linux-resources.ts';
import { namespaceOptions } from './namespaces.ts';
import { portMappings } from './port-mappings.ts';
import { seLinuxOptions, supplementalGroups, supplementalGroupsPolicy } from './container-security-context.ts';
import { defaultSysctls, normalizeSysctl } from '../../../../shared/kubernetes/sysctls.ts';
import type { ConfigWarning, SandboxConfigInput } from './config-inputs.ts';

export interface SandboxConfig {
  readonly config: PodSandboxConfig;
  /** Problems that were worked around in the config. */
  readonly warnings: readonly ConfigWarning[];
}

/** Throws KubeletError `CreatePodSandboxError` when the spec is invalid. */
export function makeSandboxConfig(input: SandboxConfigInput): SandboxConfig {
  try {
    return toSandboxConfig(input);
  } catch (err) {
    throw new KubeletError('CreatePodSandboxError', messageOf(err), { cause: err });
  }
}

function toSandboxConfig(input: SandboxConfigInput): SandboxConfig {
  const { pod, attempt, node, settings, hostInfo } = input;
  const { name, namespace, uid } = pod.metadata;
  const dns = computePodDNS({ pod, settings, resolvConf: hostInfo.resolvConf, nodeIPs: node.hostIPs });
  const config = {
    metadata: { name, namespace, uid, attempt },
    // A pod in the host's network has the host's name.
    hostname: pod.spec.hostNetwork ? '' : kernelHostname(computePodHostname(pod, settings), pod.spec.setHostnameAsFQDN),
    logDirectory: podLogsDirectory(settings.podLogsDir, pod),
    dnsConfig: dns.config,
    portMappings: portMappings(pod),
    ...sandboxMetadata(pod),
    linux: linuxConfig(input),
    windows: undefined,
  };
  return { config, warnings: dns.warnings };
}

function linuxConfig(input: SandboxConfigInput): LinuxPodSandboxConfig {
  const { pod, cgroupParent, userNamespace } = input;
  const context = pod.spec.securityContext;
  return {
    cgroupParent,
    securityContext: {
      privileged: hasPrivilegedContainer(pod),
      namespaceOptions: namespaceOptions(pod, userNamespace),
      runAsUser: context?.runAsUser === undefined ? undefined : { value: BigInt(context.runAsUser) },
      runAsGroup: context?.runAsGroup === undefined ? undefined : { value: BigInt(context.runAsGroup) },
      supplementalGroups: supplementalGroups(context),
      supplementalGroupsPolicy: supplementalGroupsPolicy(context),
      selinuxOptions: seLinuxOptions(context?.seLinuxOptions),
      // The pod's profile is made for the pod's programs, and may kill the pause process.
      seccomp: { profileType: ProfileType.RuntimeDefault, localhostRef: '' },
      readonlyRootfs: false,
      apparmor: undefined,
      seccompProfilePath: '',
    },
    sysctls: {
      ...defaultSysctls(input.settings.defaultPodSysctls, pod),
      ...Object.fromEntries((context?.sysctls ?? []).map(({ name, value }) => [normalizeSysctl(name), value])),
    },
    ...sandboxResources(input),
  };
}

function hasPrivilegedContainer({ spec }: Pod): boolean {
  const allContainers = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  return allContainers.some(({ securityContext }) => securityContext?.privileged === true);
}
