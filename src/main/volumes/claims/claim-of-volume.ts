/**
 * Finds the claim that a pod's volume names, and checks whether the pod may use it. Pure. Upstream: getPVCExtractPV, getPVSpec and
 * component-helpers' ephemeral.
 */
import type { Pod, Volume } from '../../../shared/kubernetes/api.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../volume-objects.ts';

export interface ClaimReference {
  readonly claimName: string;
  readonly readOnly: boolean;
  /** The claim belongs to the pod. */
  readonly isEphemeral: boolean;
}

/** Returns null for a volume without a claim. */
export function claimOfVolume({ metadata }: Pod, { name, persistentVolumeClaim, ephemeral }: Volume): ClaimReference | null {
  if (persistentVolumeClaim)
    return { claimName: persistentVolumeClaim.claimName, readOnly: persistentVolumeClaim.readOnly ?? false, isEphemeral: false };
  return ephemeral ? { claimName: `${metadata.name}-${name}`, readOnly: false, isEphemeral: true } : null;
}

const protectionFinalizer = 'kubernetes.io/pvc-protection';

/** Returns why the pod can't use the claim, in upstream's words, or null. */
export function claimProblem({ metadata: pod }: Pod, claim: PersistentVolumeClaim, { isEphemeral }: ClaimReference): string | null {
  const { metadata, spec, status } = claim;
  const problem = bindingProblem(metadata, spec?.volumeName, status?.phase);
  if (problem !== null) return `error processing PVC ${pod.namespace}/${metadata.name}: ${problem}`;
  const isOwned = metadata.ownerReferences?.some(({ uid, controller }) => controller === true && uid === pod.uid) ?? false;
  if (isEphemeral && !isOwned)
    return `PVC ${pod.namespace}/${metadata.name} was not created for pod ${pod.namespace}/${pod.name} (pod is not owner)`;
  return null;
}

function bindingProblem(
  { deletionTimestamp, finalizers = [] }: PersistentVolumeClaim['metadata'],
  volumeName: string | undefined,
  phase: string | undefined,
): string | null {
  // A claim with its finalizer stays until no pod uses it.
  if (deletionTimestamp !== undefined && !finalizers.includes(protectionFinalizer)) return 'PVC is being deleted';
  if (phase !== 'Bound') return 'PVC is not bound';
  return volumeName ? null : 'PVC has empty pvc.Spec.VolumeName';
}

/** Returns why the volume is not the claim's, or null. */
export function bindingOfVolumeProblem(claim: PersistentVolumeClaim, volume: PersistentVolume): string | null {
  const { namespace, name, uid } = claim.metadata;
  const { claimRef } = volume.spec ?? {};
  const problem = !claimRef
    ? `found PV object ${volume.metadata.name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`
    : claimRef.uid !== uid
      ? `found PV object ${volume.metadata.name} but its pv.Spec.ClaimRef.UID ${claimRef.uid ?? ''} does not point to claim.UID ${uid}`
      : null;
  return problem === null ? null : `error processing PVC ${namespace ?? ''}/${name}: ${problem}`;
}
