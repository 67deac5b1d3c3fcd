/** Whose a token file is: the user that all of the pod's containers run as (upstream pkg/volume/util FsUserFrom). Pure. */
import type { Pod } from '../../../shared/kubernetes/api.ts';

/** Undefined when a container does not say its user, or they differ. */
export function commonRunAsUser({ spec }: Pod): number | undefined {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const users = new Set(containers.map(({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser));
  const [user] = users;
  return users.size === 1 ? user : undefined;
}
