/** The sandbox's config. */
import type { PodSandboxConfig } from '../../../shared/cri/generated/cri-v1.ts';
import type { ConfigWarning, SandboxConfigInput } from './types.ts';

export interface SandboxConfig {
  readonly config: PodSandboxConfig;
  /** Not failures: the config is what could be had. */
  readonly warnings: readonly ConfigWarning[];
}

/** Throws KubeletError `CreatePodSandboxError` when the pod asks for what cannot be. */
export function makeSandboxConfig(_input: SandboxConfigInput): SandboxConfig {
  throw new Error('under construction');
}
