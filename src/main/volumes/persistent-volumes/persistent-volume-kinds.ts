/** The kinds of persistent volumes that this kubelet mounts, one row each. A new kind has a file beside this one, and a row here. */
import type { PersistentVolume } from '../volume-objects.ts';
import { csiVolume } from './csi-volume.ts';
import { hostPathVolume } from './host-path-volume.ts';
import { localVolume } from './local-volume.ts';
import type { PersistentVolumeKind } from './persistent-volume-kind.ts';

type Sources = Pick<NonNullable<PersistentVolume['spec']>, 'csi' | 'local' | 'hostPath'>;
type SourceOf<K extends keyof Sources> = NonNullable<Sources[K]>;

const kinds: { readonly [K in keyof Sources]-?: PersistentVolumeKind<SourceOf<K>> } = {
  csi: csiVolume,
  local: localVolume,
  hostPath: hostPathVolume,
};

export interface FoundKind {
  readonly kind: PersistentVolumeKind<unknown>;
  readonly source: unknown;
}

/** Returns null for a volume of another kind. */
export function findPersistentVolumeKind({ spec = {} }: PersistentVolume): FoundKind | null {
  const name = (Object.keys(kinds) as (keyof Sources)[]).find((key) => spec[key] !== undefined && spec[key] !== null);
  return name === undefined ? null : { kind: kinds[name], source: spec[name] };
}
