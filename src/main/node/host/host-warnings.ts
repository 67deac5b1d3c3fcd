/** Computes the warning events about the host that the kubelet records at start. Pure. */
import type { RecordedEvent } from '../../../shared/contracts/event.ts';
import { nodeReference } from '../../../shared/kubernetes/node-reference.ts';

export interface HostWarningInputs {
  readonly cgroupVersion: 1 | 2;
  /** Why the host could not be set up. */
  readonly setupProblem: string | null;
  /** With swap on, memory-backed volumes may be written to disk. */
  readonly isSwapOn: boolean;
  readonly supportsNoswap: boolean;
  /** The result of `resolvConfProblem`. */
  readonly resolvConfProblem: string | null;
}

export function hostWarnings(nodeName: string, traits: HostWarningInputs): RecordedEvent[] {
  const warnings: [reason: string, message: string][] = [];
  // Upstream: initializeRuntimeDependentModules and Run in kubelet.go.
  if (traits.setupProblem !== null) warnings.push(['KubeletSetupFailed', traits.setupProblem]);
  // Upstream: cgroupVersionCheck in kubelet_linux.go.
  if (traits.cgroupVersion === 1) {
    const more = 'https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1';
    const message = `cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at ${more}`;
    warnings.push(['CgroupV1', message]);
  }
  // Upstream: NewContainerManager in container_manager_linux.go.
  if (traits.isSwapOn && !traits.supportsNoswap) {
    const volumes =
      'Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.';
    warnings.push(['PossibleMemoryBackedVolumesOnDisk', `The tmpfs noswap option is not supported. ${volumes}`]);
  }
  if (traits.resolvConfProblem !== null) warnings.push(['CheckLimitsForResolvConf', traits.resolvConfProblem]);
  return warnings.map(([reason, message]) => ({ object: nodeReference(nodeName), type: 'Warning', reason, message }));
}
