/** The interface of the sources of secrets and config maps; configMapAndSecretChangeDetectionStrategy selects the implementation. */
import { KubeletError } from '../../shared/errors/kubelet-error.ts';
import { apiPath, isNotFound, type ApiClient, type ApiObject } from '../api/index.ts';

/** The fields of a Secret or ConfigMap that the kubelet reads. */
export interface SecretOrConfigMap extends ApiObject {
  readonly immutable?: boolean;
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>> | null;
  readonly binaryData?: Readonly<Record<string, string>> | null;
}

export interface ObjectKind {
  readonly kind: 'Secret' | 'ConfigMap';
  /** The resource name in paths. */
  readonly plural: 'secrets' | 'configmaps';
  /** The resource name in upstream's messages. */
  readonly singular: 'secret' | 'configmap';
}

export const secretKind: ObjectKind = { kind: 'Secret', plural: 'secrets', singular: 'secret' };
export const configMapKind: ObjectKind = { kind: 'ConfigMap', plural: 'configmaps', singular: 'configmap' };

export interface ObjectSource {
  /** Registers that the pod uses the object. Upstream: AddReference. */
  addReference(namespace: string, name: string, podUID: string): void;
  /** Removes the pod's reference. Upstream: DeleteReference. */
  deleteReference(namespace: string, name: string, podUID: string): void;
  /** True when the object is cached: `get` does not wait for the API server. */
  has(namespace: string, name: string): boolean;
  /** Rejects with KubeletError: `NotFound`, or the reason why the object could not be read. */
  get(namespace: string, name: string): Promise<SecretOrConfigMap>;
  close(): Promise<void>;
}

/** A working API server responds within milliseconds, and the pod's next sync retries. */
const getDeadlineMs = 10_000;

/** Reads the object from the API server. With `isRefresh` the server may respond from its watch cache. Rejects with ApiError. */
export function fetchObject(
  client: ApiClient,
  { plural }: ObjectKind,
  namespace: string,
  name: string,
  {
    isRefresh = false,
    signal,
    podUID,
  }: { readonly isRefresh?: boolean; readonly signal?: AbortSignal; readonly podUID?: string | undefined } = {},
): Promise<SecretOrConfigMap> {
  return client.call<SecretOrConfigMap>({
    method: 'GET',
    path: apiPath('api', 'v1', 'namespaces', namespace, plural, name),
    trafficClass: 'objects',
    podUID,
    deadlineMs: getDeadlineMs,
    maxAttempts: 1,
    ...(isRefresh && { query: { resourceVersion: '0' } }),
    ...(signal && { signal }),
  });
}

export function objectNotFound({ singular }: ObjectKind, name: string): KubeletError {
  return new KubeletError('NotFound', `${singular} ${JSON.stringify(name)} not found`);
}

export function objectNotRegistered(namespace: string, name: string): KubeletError {
  return new KubeletError('NotRegistered', `object ${JSON.stringify(namespace)}/${JSON.stringify(name)} not registered`);
}

/** Resolves with null when the object does not exist. */
export async function nullIfNotFound(get: () => Promise<SecretOrConfigMap>): Promise<SecretOrConfigMap | null> {
  try {
    return await get();
  } catch (err) {
    if (isNotFound(err)) return null;
    throw err;
  }
}
