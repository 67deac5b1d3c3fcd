/** Computes `status.nodeInfo`, the images and the runtime handlers of the Node. Pure. Upstream: nodestatus/setters.go. */
import type { RuntimeImage } from '../../../shared/contracts/images.ts';
import type { RuntimeInfo } from '../../../shared/contracts/pleg.ts';
import type { MachineInfo } from '../../../shared/contracts/stats.ts';
import { kubernetesVersion } from '../../../shared/kubernetes/version.ts';
import { architecture, operatingSystem, type NodeStatus, type NodeSystemInfo } from '../node-object.ts';

/**
 * Keeps existing fields that this kubelet does not know.
 * @param inUserNamespace undefined: the gate KubeletInUserNamespace is off
 */
export function nodeSystemInfo(
  existing: NodeSystemInfo | undefined,
  machine: MachineInfo,
  runtime: RuntimeInfo | null,
  inUserNamespace: boolean | undefined,
): NodeSystemInfo {
  const { swap: _, runningInUserNamespace: __, ...rest } = { ...existing };
  return {
    ...rest,
    machineID: machine.machineID,
    systemUUID: machine.systemUUID,
    bootID: machine.bootID,
    kernelVersion: machine.kernelVersion,
    osImage: machine.osImage,
    containerRuntimeVersion: runtime
      ? `${runtime.runtimeName}://${runtime.runtimeVersion}`
      : (existing?.containerRuntimeVersion ?? '://Unknown'),
    kubeletVersion: kubernetesVersion,
    // Deprecated, and cleared since v1.36 (gate DisableNodeKubeProxyVersion, locked).
    kubeProxyVersion: '',
    operatingSystem,
    architecture,
    ...(machine.swapBytes > 0 ? { swap: { capacity: machine.swapBytes } } : {}),
    ...(inUserNamespace === undefined ? {} : { runningInUserNamespace: inUserNamespace }),
  };
}

/** Upstream's MaxNamesPerImageInNodeStatus. */
const maxNamesPerImage = 5;

/**
 * Returns the largest images first, with digests before tags.
 * @param maxImages nodeStatusMaxImages; −1: all
 */
export function nodeImages(images: readonly RuntimeImage[], maxImages: number): NonNullable<NodeStatus['images']> {
  const bySize = [...images].sort((a, b) => b.sizeBytes - a.sizeBytes || (a.id < b.id ? 1 : -1));
  return (maxImages < 0 ? bySize : bySize.slice(0, maxImages)).map(({ repoDigests, repoTags, sizeBytes }) => ({
    names: [...repoDigests, ...repoTags].slice(0, maxNamesPerImage),
    sizeBytes,
  }));
}

/** Sorts by name, because the runtime's order varies and a changed order must not cause a status update. */
export function runtimeHandlers(runtime: RuntimeInfo): NonNullable<NodeStatus['runtimeHandlers']> {
  return runtime.handlers
    .map(({ name, recursiveReadOnlyMounts, userNamespaces }) => ({ name, features: { recursiveReadOnlyMounts, userNamespaces } }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
