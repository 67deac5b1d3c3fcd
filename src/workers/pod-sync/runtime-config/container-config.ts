/** The container's config. */
import type { ContainerConfig } from '../../../shared/cri/generated/cri-v1.ts';
import type { ContainerConfigInput } from './types.ts';

/** Throws KubeletError `CreateContainerConfigError`: the pod asks for what cannot be, or breaks its own non-root policy. */
export function makeContainerConfig(_input: ContainerConfigInput): ContainerConfig {
  throw new Error('under construction');
}
