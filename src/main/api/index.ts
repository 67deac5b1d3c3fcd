/**
 * Access to the API server. Owns the kubeconfig, the kubelet's credentials, the connections with their rate limits, retries and priorities,
 * and the reflectors that mirror API objects. The composition root creates the client; the node, the pod source, the status manager, the
 * event recorder and the pods' objects call it.
 */
export {
  ApiError,
  apiPath,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type ApiCall,
  type ApiClient,
  type TrafficClass,
  type WatchEvent,
} from './api-client.ts';
export type { ClientCertificate, Identity, IdentitySource } from './identity/identity.ts';
export { KubeconfigIdentity } from './identity/kubeconfig-identity.ts';
export type { FileOrData, Kubeconfig, KubeconfigCluster, KubeconfigUser } from './kubeconfig/kubeconfig.ts';
export { loadKubeconfig } from './kubeconfig/load-kubeconfig.ts';
export { createApiClient, type ApiClientOptions, type ApiConnection } from './create-api-client.ts';
export { fieldEquals, fieldNotEquals, type FieldSelector } from './field-selector.ts';
export { acceptConforming } from './reflector/accept-conforming.ts';
export { ObjectStore, type ApiObject, type ObjectChange, type ObjectReader } from './reflector/object-store.ts';
export { Reflector } from './reflector/reflector.ts';
export {
  criticalWatchIdleTimeoutMs,
  type ReflectorHandler,
  type ReflectorOptions,
  type UnreadObject,
} from './reflector/reflector-options.ts';
export { isOlder } from './reflector/resource-version.ts';
export { createReviews, type Reviews } from './reviews.ts';
