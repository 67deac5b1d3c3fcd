/** Finds the owner of token files: the user that all of a pod's containers run as (upstream pkg/volume/util FsUserFrom). Pure. */
import type { Pod } from '../../../../shared/kubernetes/api.ts';

/** Returns undefined when a container does not name its user, or when the users differ. */
export function commonRunAsUser({ spec }: Pod): number | undefined {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const users = new Set(containers.map(({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser));
  const [user] = users;
  return users.size === 1 ? user : undefined;
}
