/**
 * The objects of the API server that a pod needs for its volumes and its environment. A sync task requests them over its task channel; main replies from
 * its caches. Plain data as in the API: the sync decodes base64 when it writes the files, so that main does not have to.
 */
import type { Failure } from '../errors/kubelet-error.ts';
import type { LabelSelector } from '../kubernetes/api.ts';

export type PodObjectRef =
  | { readonly kind: 'Secret' | 'ConfigMap'; readonly namespace: string; readonly name: string }
  | TokenRef
  | { readonly kind: 'TrustBundle'; readonly name: string; readonly optional: boolean }
  /** An absent selector matches nothing; a selector without requirements matches everything. */
  | {
      readonly kind: 'SignerTrustBundles';
      readonly signerName: string;
      readonly labelSelector: LabelSelector | undefined;
      readonly optional: boolean;
    }
  | PodCertificateRef
  | ServicesRef;

/** A key and its certificate chain, for a source of a projected volume of the requesting pod. */
export interface PodCertificateRef {
  readonly kind: 'PodCertificate';
  readonly volume: string;
  readonly sourceIndex: number;
}

/** A service account token that is bound to the pod. */
export interface TokenRef {
  readonly kind: 'Token';
  readonly namespace: string;
  readonly serviceAccountName: string;
  readonly podName: string;
  readonly podUID: string;
  /** Empty: the API server's default audience. */
  readonly audience: string;
  readonly expirationSeconds: number;
  /** For an image pull: the account's UID, which the API server checks. Such a token is renewed by the next pull, not by a sync. */
  readonly serviceAccountUID?: string;
  /** The token in the volume, from before a restart of the kubelet. Main keeps it as long as it is valid. */
  readonly onDisk?: string;
}

/** A token of a service account. */
export interface GrantedToken {
  readonly token: string;
  /** Wall-clock ms. */
  readonly expiresAtMs: number;
}

/** The services for the pod's environment variables. */
export interface ServicesRef {
  readonly kind: 'Services';
  readonly namespace: string;
  /** True: includes the services of the namespace (enableServiceLinks), not only the API server's own. */
  readonly links: boolean;
}

export type PodObject =
  | SecretObject
  | ConfigMapObject
  | { readonly kind: 'Token'; readonly token: string }
  /** Concatenated PEM certificates. */
  | { readonly kind: 'TrustAnchors'; readonly pem: string }
  /** PEM: a PKCS#8 key, and its certificate chain. */
  | { readonly kind: 'Credentials'; readonly keyPEM: string; readonly chainPEM: string }
  | { readonly kind: 'Services'; readonly services: readonly ServiceInfo[] };

export interface SecretObject {
  readonly kind: 'Secret';
  readonly uid: string;
  readonly type: string;
  /** Base64, by key. */
  readonly data: Readonly<Record<string, string>>;
}

export interface ConfigMapObject {
  readonly kind: 'ConfigMap';
  readonly data: Readonly<Record<string, string>>;
  /** Base64, by key. */
  readonly binaryData: Readonly<Record<string, string>>;
}

export interface ServiceInfo {
  readonly name: string;
  readonly namespace: string;
  /** Never empty, and never `None`. */
  readonly clusterIP: string;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
}

/**
 * Reasons of failures: `NotFound` (ignored for an optional reference), `NoClient` (the kubelet runs standalone); all others are transient. Messages are
 * upstream's.
 */
export type PodObjectResult =
  | { readonly outcome: 'value'; readonly value: PodObject }
  | { readonly outcome: 'failed'; readonly failure: Failure };
