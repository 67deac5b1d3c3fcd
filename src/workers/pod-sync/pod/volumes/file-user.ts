/** Chooses the owner of a file in a volume that the kubelet writes (upstream ResolvesFsUser and resolveFsUser in pkg/volume). Pure. */

/**
 * Returns the first user that is given: that of the item before the volume's `defaultUser`. Undefined: the owner is the one that the
 * file would have without these fields.
 */
export type ResolveFileUser = (itemUser: number | undefined, defaultUser: number | undefined) => number | undefined;

/** @param enabled gate AtomicWriteVolumeUserFields; without it, the fields have no effect */
export function fileUserResolver(enabled: boolean): ResolveFileUser {
  return enabled ? (itemUser, defaultUser) => itemUser ?? defaultUser : () => undefined;
}
