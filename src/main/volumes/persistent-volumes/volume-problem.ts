/** Checks a persistent volume before its mount, as upstream does (checkNodeAffinity and checkMountOptionSupport in the operation generator). Pure. */
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { matchesNodeSelector } from '../../../shared/kubernetes/node-selector.ts';
import type { PersistentVolume } from '../volume-objects.ts';
import type { PersistentVolumeKind } from './persistent-volume-kind.ts';
import { mountOptionsOf } from './volume-mount-options.ts';

/** Returns the message of the pod's event, or null. */
export function volumeProblem(
  volume: PersistentVolume,
  { supportsMountOptions }: Pick<PersistentVolumeKind<unknown>, 'supportsMountOptions'>,
  nodeLabels: Readonly<Record<string, string>>,
): string | null {
  const failed = (check: string, why: string) => `MountVolume.${check} check failed for volume ${goQuote(volume.metadata.name)} : ${why}`;
  const required = volume.spec?.nodeAffinity?.required;
  // As upstream, terms can't select the node by its name.
  if (required && !matchesNodeSelector(required, nodeLabels, {})) return failed('NodeAffinity', 'no matching NodeSelectorTerms');
  if (!supportsMountOptions && mountOptionsOf(volume).length > 0)
    return failed('MountOptionSupport', 'mount options are not supported for this volume type');
  return null;
}
