/** Resolves a pod's volume to what is published: by its claim and the claim's persistent volume, or by the pod itself (upstream createVolumeSpec). */
import type { VolumeNotReady } from '../../../shared/contracts/published-volumes.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Pod, Volume } from '../../../shared/kubernetes/api.ts';
import { bindingOfVolumeProblem, claimOfVolume, claimProblem } from '../claims/claim-of-volume.ts';
import type { GetToken } from '../claims/service-account-tokens.ts';
import type { VolumeObjects } from '../volume-objects.ts';
import { inlinePublication } from './csi-volume.ts';
import { findPersistentVolumeKind } from './persistent-volume-kinds.ts';
import type { Publication } from './persistent-volume-kind.ts';
import { volumeProblem } from './volume-problem.ts';

export interface PublicationSources {
  /** Undefined when standalone. */
  readonly objects: VolumeObjects | undefined;
  /** A token of a pod's service account. */
  readonly getToken: GetToken;
  /** Returns the current labels of this node. */
  readonly nodeLabels: () => Readonly<Record<string, string>>;
}

export const standalone = 'kube client is not configured: this kubelet runs standalone';

/** Resolves with the reason as text why the volume can't be used. Rejects with an Error. */
export async function resolvePublication(
  pod: Pod,
  volume: Volume,
  sources: PublicationSources,
): Promise<Publication | VolumeNotReady | string> {
  if (!volume.csi) return ofClaim(pod, volume, sources);
  const { objects, getToken } = sources;
  return objects ? inlinePublication(pod, volume.name, volume.csi, objects, getToken) : `volume ${volume.name}: ${standalone}`;
}

async function ofClaim(
  pod: Pod,
  volume: Volume,
  { objects, getToken, nodeLabels }: PublicationSources,
): Promise<Publication | VolumeNotReady | string> {
  const reference = claimOfVolume(pod, volume);
  if (!reference) return `volume ${volume.name} has no claim`;
  const { namespace } = pod.metadata;
  const claimText = `error processing PVC ${namespace}/${reference.claimName}`;
  if (!objects) return `${claimText}: ${standalone}`;
  const claim = await objects
    .claim(namespace, reference.claimName)
    .catch((err: unknown) => `${claimText}: failed to fetch PVC from API server: ${messageOf(err)}`);
  if (typeof claim === 'string') return claim;
  const problem = claimProblem(pod, claim, reference);
  if (problem !== null) return problem;
  const name = claim.spec?.volumeName ?? '';
  const persistentVolume = await objects
    .volume(name)
    .catch((err: unknown) => `${claimText}: failed to fetch PV ${name} from API server: ${messageOf(err)}`);
  if (typeof persistentVolume === 'string') return persistentVolume;
  const bindingProblem = bindingOfVolumeProblem(claim, persistentVolume);
  if (bindingProblem !== null) return bindingProblem;
  const found = findPersistentVolumeKind(persistentVolume);
  if (!found) return `${claimText}: this kubelet does not support the kind of PV ${name}`;
  const failure = volumeProblem(persistentVolume, found.kind, nodeLabels());
  if (failure !== null) return { outcome: 'failed', message: failure };
  const claimed = { pod, volume, persistentVolume, source: found.source, readOnly: reference.readOnly };
  const publication = await found.kind.toPublication(claimed, objects, getToken);
  return typeof publication === 'string' ? `${claimText}: ${publication}` : publication;
}
