/** Chooses the owner of a file in a volume that the kubelet writes (upstream ResolvesFsUser and resolveFsUser in pkg/volume). Pure. */

/** Returns the item's user, else the volume's `defaultUser`. Undefined: these fields do not set an owner, and the file has the usual one. */
export type ResolveFileUser = (itemUser: number | undefined, defaultUser: number | undefined) => number | undefined;

/** @param enabled gate AtomicWriteVolumeUserFields; without it, the fields have no effect */
export function fileUserResolver(enabled: boolean): ResolveFileUser {
  return enabled ? (itemUser, defaultUser) => itemUser ?? defaultUser : () => undefined;
}
