/** The storage health in the status of the CSINode (upstream tryUpdateCSINodeStorageHealth and storageHealthIdentityEqual in pkg/volume/csi/nodeinfomanager). Pure. */
import type { StorageHealthCondition } from '../../../shared/contracts/volumes.ts';
import type { CsiNode } from './csi-node.ts';

/**
 * Returns the same object if the driver's conditions differ in nothing but their messages. What other drivers report is kept.
 * @param now when a condition that is new has begun
 */
export function withStorageHealth(csiNode: CsiNode, name: string, conditions: readonly StorageHealthCondition[], now: string): CsiNode {
  const all = csiNode.status?.storageHealth ?? [];
  const existing = new Map(all.find((health) => health.name === name)?.healthConditions?.map((one) => [identityOf(one), one]));
  if (new Set(existing.keys()).symmetricDifference(new Set(conditions.map(identityOf))).size === 0) return csiNode;
  const healthConditions = conditions.map((condition) => ({
    ...condition,
    lastTransitionTime: existing.get(identityOf(condition))?.lastTransitionTime ?? now,
  }));
  const others = all.filter((health) => health.name !== name);
  return {
    ...csiNode,
    status: { ...csiNode.status, storageHealth: conditions.length > 0 ? [...others, { name, healthConditions }] : others },
  };
}

function identityOf({ status, reason, accessMode, volumeMode }: StorageHealthCondition): string {
  return `${status} ${reason} ${accessMode ?? ''} ${volumeMode ?? ''}`;
}
