/**
 * The persisted types of pull records in the format of upstream's kubelet.config.k8s.io/v1beta1, so a node can switch between the Go
 * kubelet and this one. Pure.
 */

import type { ObjectCoordinates } from '../../../../shared/registry-credentials/keyring.ts';

export type { ObjectCoordinates } from '../../../../shared/registry-credentials/keyring.ts';

export const recordApiVersion = 'kubelet.config.k8s.io/v1beta1';
/** Files in these versions are read and rewritten in the current version. */
export const olderVersions: readonly string[] = ['kubelet.config.k8s.io/v1alpha1'];

/** A pull of this image started and may have finished. */
export interface ImagePullIntent {
  readonly image: string;
}

export interface ImagePulledRecord {
  /** RFC 3339. */
  readonly lastUpdatedTime: string;
  readonly imageRef: string;
  /** Keyed by the image name in the pod spec, without tag and digest. */
  readonly credentialMapping?: Readonly<Record<string, ImagePullCredentials>>;
}

/** The pods that may use an image without a pull. */
export interface ImagePullCredentials {
  readonly kubernetesSecrets?: readonly ImagePullSecret[];
  readonly kubernetesServiceAccounts?: readonly ObjectCoordinates[];
  /** Every pod of the node may use the image: the pull was anonymous or used the node's credentials. */
  readonly nodePodsAccessible?: boolean;
}

export interface ImagePullSecret extends ObjectCoordinates {
  /** The hash of the secret's credential that the pull used. */
  readonly credentialHash: string;
}

/** Returns `host/repository` as written in the pod spec. */
export function withoutTagAndDigest(image: string): string {
  const [nameAndTag = ''] = image.split('@', 1);
  const colon = nameAndTag.lastIndexOf(':');
  return colon > nameAndTag.lastIndexOf('/') ? nameAndTag.slice(0, colon) : nameAndTag;
}

/**
 * Adds the credentials under this name. Returns the same object when the record already includes them (upstream
 * pulledRecordMergeNewCreds).
 */
export function mergeCredentials(record: ImagePulledRecord, name: string, added: ImagePullCredentials, now: string): ImagePulledRecord {
  const { nodePodsAccessible = false, kubernetesSecrets = [], kubernetesServiceAccounts = [] } = added;
  if (!nodePodsAccessible && kubernetesSecrets.length === 0 && kubernetesServiceAccounts.length === 0) return record;
  const existing = record.credentialMapping?.[name];
  if (existing?.nodePodsAccessible) return record;
  const updated = (credentials: ImagePullCredentials): ImagePulledRecord => ({
    ...record,
    lastUpdatedTime: now,
    credentialMapping: { ...record.credentialMapping, [name]: credentials },
  });
  if (!existing) return updated(added);
  if (nodePodsAccessible) return updated({ nodePodsAccessible: true });
  const secrets = mergeObjects(existing.kubernetesSecrets ?? [], kubernetesSecrets, (a, b) => a.credentialHash === b.credentialHash);
  const accounts = mergeObjects(existing.kubernetesServiceAccounts ?? [], kubernetesServiceAccounts, () => true);
  if (!secrets && !accounts) return record;
  return updated({
    ...existing,
    ...(secrets && { kubernetesSecrets: secrets }),
    ...(accounts && { kubernetesServiceAccounts: accounts }),
  });
}

/** Sorts by namespace, name and UID. Undefined when `added` changes nothing. */
function mergeObjects<T extends ObjectCoordinates>(
  existing: readonly T[],
  added: readonly T[],
  isSameContent: (a: T, b: T) => boolean,
): T[] | undefined {
  const keyOf = ({ namespace, name, uid }: T) => JSON.stringify([namespace, name, uid]);
  const merged = new Map(existing.map((object) => [keyOf(object), object]));
  const isNew = (object: T) => {
    const known = merged.get(keyOf(object));
    return !known || !isSameContent(known, object);
  };
  if (!added.some(isNew)) return undefined;
  for (const object of added) merged.set(keyOf(object), object);
  const order = (a: T, b: T) => compare(a.namespace, b.namespace) || compare(a.name, b.name) || compare(a.uid, b.uid);
  return [...merged.values()].sort(order);
}

function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
