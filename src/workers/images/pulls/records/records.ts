/** What is written of pulls, in the words of upstream's kubelet.config.k8s.io/v1beta1: a node may change over from the Go kubelet, and back. Pure. */

export const apiVersion = 'kubelet.config.k8s.io/v1beta1';
/** Read, and written anew in the version above. */
export const olderVersions: readonly string[] = ['kubelet.config.k8s.io/v1alpha1'];

/** A pull of this image has begun, and perhaps ended. */
export interface ImagePullIntent {
  readonly image: string;
}

export interface ImagePulledRecord {
  /** RFC 3339. */
  readonly lastUpdatedTime: string;
  readonly imageRef: string;
  /** By the image's name in a pod, without tag and digest. */
  readonly credentialMapping?: Readonly<Record<string, ImagePullCredentials>>;
}

/** Who may use an image without a pull. */
export interface ImagePullCredentials {
  readonly kubernetesSecrets?: readonly ImagePullSecret[];
  readonly kubernetesServiceAccounts?: readonly ServiceAccountCoordinates[];
  /** Every pod of the node: no credentials were needed, or the node's own were. */
  readonly nodePodsAccessible?: boolean;
}

export interface ImagePullSecret extends ServiceAccountCoordinates {
  /** Of the credentials in it that were used. */
  readonly credentialHash: string;
}

export interface ServiceAccountCoordinates {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** `host/repository`, as it stands in the pod. */
export function withoutTagAndDigest(image: string): string {
  const [named = ''] = image.split('@', 1);
  const colon = named.lastIndexOf(':');
  return colon > named.lastIndexOf('/') ? named.slice(0, colon) : named;
}

/** The record with who else may use the image under this name; the same object when it says so already (upstream pulledRecordMergeNewCreds). */
export function mergeCredentials(record: ImagePulledRecord, name: string, added: ImagePullCredentials, now: string): ImagePulledRecord {
  const { nodePodsAccessible = false, kubernetesSecrets = [] } = added;
  if (!nodePodsAccessible && kubernetesSecrets.length === 0) return record;
  const known = record.credentialMapping?.[name];
  if (known?.nodePodsAccessible) return record;
  const updated = (credentials: ImagePullCredentials): ImagePulledRecord => ({
    ...record,
    lastUpdatedTime: now,
    credentialMapping: { ...record.credentialMapping, [name]: credentials },
  });
  if (!known) return updated(added);
  if (nodePodsAccessible) return updated({ nodePodsAccessible: true });
  const secrets = mergeSecrets(known.kubernetesSecrets ?? [], kubernetesSecrets);
  return secrets ? updated({ ...known, kubernetesSecrets: secrets }) : record;
}

/** In order of namespace, name and UID; undefined when nothing is new. */
function mergeSecrets(known: readonly ImagePullSecret[], added: readonly ImagePullSecret[]): ImagePullSecret[] | undefined {
  const keyOf = ({ namespace, name, uid }: ImagePullSecret) => JSON.stringify([namespace, name, uid]);
  const merged = new Map(known.map((secret) => [keyOf(secret), secret]));
  const isNew = added.some((secret) => merged.get(keyOf(secret))?.credentialHash !== secret.credentialHash);
  if (!isNew) return undefined;
  for (const secret of added) merged.set(keyOf(secret), secret);
  const order = (a: ImagePullSecret, b: ImagePullSecret) =>
    compare(a.namespace, b.namespace) || compare(a.name, b.name) || compare(a.uid, b.uid);
  return [...merged.values()].sort(order);
}

function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
