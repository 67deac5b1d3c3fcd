/** The sandbox's config (upstream kuberuntime_sandbox.go, generatePodSandboxConfig). */
import {
  type LinuxPodSandboxConfig,
  type PodSandboxConfig,
  SecurityProfile_ProfileType as ProfileType,
} from '../../../shared/cri/generated/cri-v1.ts';
import { KubeletError, messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podLogsDirectory } from '../../../shared/kubernetes/paths.ts';
import { podDNS } from './dns.ts';
import { kernelHostname, podHostname } from './hostname.ts';
import { sandboxAnnotations, sandboxLabels } from './labels.ts';
import { sandboxResources } from './linux-resources.ts';
import { namespaceOptions } from './namespaces.ts';
import { portMappings } from './port-mappings.ts';
import { seLinuxOptions, supplementalGroups, supplementalGroupsPolicy } from './security-context.ts';
import { normalizeSysctl } from '../../../shared/kubernetes/sysctls.ts';
import type { ConfigWarning, SandboxConfigInput } from './config-inputs.ts';

export interface SandboxConfig {
  readonly config: PodSandboxConfig;
  /** Not failures: the config is what could be had. */
  readonly warnings: readonly ConfigWarning[];
}

/** Throws KubeletError `CreatePodSandboxError` when the pod asks for what cannot be. */
export function makeSandboxConfig(input: SandboxConfigInput): SandboxConfig {
  try {
    return make(input);
  } catch (err) {
    throw new KubeletError('CreatePodSandboxError', messageOf(err), { cause: err });
  }
}

function make(input: SandboxConfigInput): SandboxConfig {
  const { pod, attempt, node, settings, hostInfo } = input;
  const { name, namespace, uid } = pod.metadata;
  const dns = podDNS({ pod, settings, resolvConf: hostInfo.resolvConf, nodeIPs: node.hostIPs });
  const config = {
    metadata: { name, namespace, uid, attempt },
    // In the host's network the host's name is what a pod sees.
    hostname: pod.spec.hostNetwork ? '' : kernelHostname(podHostname(pod, settings), pod.spec.setHostnameAsFQDN),
    logDirectory: podLogsDirectory(settings.podLogsDir, pod),
    dnsConfig: dns.config,
    portMappings: portMappings(pod),
    labels: sandboxLabels(pod),
    annotations: sandboxAnnotations(pod),
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
      // Not the pod's: a profile made for the pod's programs may not let the pause program live.
      seccomp: { profileType: ProfileType.RuntimeDefault, localhostRef: '' },
      readonlyRootfs: false,
      apparmor: undefined,
      seccompProfilePath: '',
    },
    sysctls: Object.fromEntries((context?.sysctls ?? []).map(({ name, value }) => [normalizeSysctl(name), value])),
    ...sandboxResources(input),
  };
}

function hasPrivilegedContainer({ spec }: Pod): boolean {
  const all = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  return all.some(({ securityContext }) => securityContext?.privileged === true);
}
