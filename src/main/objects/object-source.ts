/** Where secrets or config maps come from: three ways to know them, one for each configMapAndSecretChangeDetectionStrategy. */
import { KubeletError } from '../../shared/errors/kubelet-error.ts';
import { apiPath, isNotFound, type ApiClient, type ApiObject } from '../api/index.ts';

/** A Secret or a ConfigMap, as far as this room reads it. */
export interface SecretOrConfigMap extends ApiObject {
  readonly immutable?: boolean;
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>> | null;
  readonly binaryData?: Readonly<Record<string, string>> | null;
}

export interface ObjectKind {
  readonly kind: 'Secret' | 'ConfigMap';
  /** In the path. */
  readonly plural: 'secrets' | 'configmaps';
  /** In upstream's messages. */
  readonly singular: 'secret' | 'configmap';
}

export const secretKind: ObjectKind = { kind: 'Secret', plural: 'secrets', singular: 'secret' };
export const configMapKind: ObjectKind = { kind: 'ConfigMap', plural: 'configmaps', singular: 'configmap' };

export interface ObjectSource {
  /** The pod needs the object: from now on it is kept at hand. */
  addReference(namespace: string, name: string, podUID: string): void;
  /** It does not any more. */
  deleteReference(namespace: string, name: string, podUID: string): void;
  /** It is known to be there; who asks would not have to wait for it. */
  has(namespace: string, name: string): boolean;
  /** Rejects with KubeletError: `NotFound`, or why the object is not known. */
  get(namespace: string, name: string): Promise<SecretOrConfigMap>;
  close(): Promise<void>;
}

/** A GET answers in milliseconds or not at all; the pod's next sync asks again. */
const getDeadlineMs = 10_000;

/** Straight from the API server. `isRefresh`: what its cache has will do. Rejects with ApiError. */
export function fetchObject(
  client: ApiClient,
  { plural }: ObjectKind,
  namespace: string,
  name: string,
  { isRefresh = false, signal }: { readonly isRefresh?: boolean; readonly signal?: AbortSignal } = {},
): Promise<SecretOrConfigMap> {
  return client.call<SecretOrConfigMap>({
    method: 'GET',
    path: apiPath('api', 'v1', 'namespaces', namespace, plural, name),
    trafficClass: 'objects',
    deadlineMs: getDeadlineMs,
    maxAttempts: 1,
    ...(isRefresh && { query: { resourceVersion: '0' } }),
    ...(signal && { signal }),
  });
}

export function notFound({ singular }: ObjectKind, name: string): KubeletError {
  return new KubeletError('NotFound', `${singular} ${JSON.stringify(name)} not found`);
}

export function notRegistered(namespace: string, name: string): KubeletError {
  return new KubeletError('NotRegistered', `object ${JSON.stringify(namespace)}/${JSON.stringify(name)} not registered`);
}

/** What is known of an object: null, it is not there. */
export async function nullIfNotFound(get: () => Promise<SecretOrConfigMap>): Promise<SecretOrConfigMap | null> {
  try {
    return await get();
  } catch (err) {
    if (isNotFound(err)) return null;
    throw err;
  }
}
