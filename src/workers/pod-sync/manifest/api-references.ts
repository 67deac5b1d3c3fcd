/**
 * Detects references of a static pod to objects of the API server, which static pods may not use (upstream HasAPIObjectReference).
 */
import type { Container, Pod, Volume } from '../../../shared/kubernetes/api.ts';
import { eachContainer } from './validation/each-container.ts';

/** Returns why the pod's references are not allowed, in upstream's wording, or null when they are. */
export function apiReferenceError(pod: Pod): string | null {
  const reference = firstReference(pod);
  return reference === null ? null : `static pods may not reference ${reference}`;
}

/** Returns the first kind of object that the pod refers to, in the API's wording, or null. */
function firstReference({ spec }: Pod): string | null {
  const containers = eachContainer(spec, '').map(({ container }) => container);
  const volumes = spec.volumes ?? [];
  if (spec.serviceAccountName) return 'serviceaccounts';
  const pullsWithSecret = (spec.imagePullSecrets ?? []).some(({ name }) => name);
  if (pullsWithSecret || containers.some((each) => environmentRefersTo(each, 'secret')) || volumes.some(refersToSecret)) return 'secrets';
  if (containers.some((each) => environmentRefersTo(each, 'configMap')) || volumes.some(refersToConfigMap)) return 'configmaps';
  if (spec.resourceClaims?.length) return 'resourceclaims';
  for (const volume of volumes) {
    const reference = volumeReference(volume);
    if (reference !== null) return reference;
  }
  return null;
}

function environmentRefersTo({ env = [], envFrom = [] }: Container, kind: 'secret' | 'configMap'): boolean {
  return envFrom.some((each) => each[`${kind}Ref`]?.name) || env.some(({ valueFrom }) => valueFrom?.[`${kind}KeyRef`]?.name);
}

function refersToSecret(volume: Volume): boolean {
  const { azureFile, cephfs, cinder, flexVolume, projected, rbd, secret, scaleIO, iscsi, storageos, csi } = volume;
  const withSecretRef = [cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos];
  return Boolean(
    azureFile?.secretName ||
    secret?.secretName ||
    csi?.nodePublishSecretRef?.name ||
    withSecretRef.some((source) => source?.secretRef?.name) ||
    projected?.sources?.some((source) => source.secret?.name),
  );
}

function refersToConfigMap({ projected, configMap }: Volume): boolean {
  return Boolean(configMap?.name || projected?.sources?.some((source) => source.configMap?.name));
}

/** These kinds of volume count as references even without the name of an object. */
function volumeReference(volume: Volume): string | null {
  if (volume.configMap) return 'configmaps (via configmap volumes)';
  if (volume.secret) return 'secrets (via secret volumes)';
  if (volume.csi) return 'csidrivers (via CSI volumes)';
  if (volume.glusterfs) return 'endpoints (via glusterFS volumes)';
  if (volume.persistentVolumeClaim) return 'persistentvolumeclaims';
  if (volume.ephemeral) return 'persistentvolumeclaims (via ephemeral volumes)';
  if (volume.azureFile) return 'secrets (via azureFile volumes)';
  for (const source of volume.projected?.sources ?? []) {
    if (source.configMap) return 'configmaps (via projected volumes)';
    if (source.secret) return 'secrets (via projected volumes)';
    if (source.serviceAccountToken) return 'serviceaccounts (via projected volumes)';
    if (source.clusterTrustBundle) return 'clustertrustbundles';
    if (source.podCertificate) return 'podcertificates';
    if (!source.downwardAPI) return `objects by a source that is not known, in projected volume ${JSON.stringify(volume.name)}`;
  }
  return null;
}
