/**
 * What lies in the API server and a pod needs for its volumes and its environment: a sync asks main for it on its line, main answers from
 * its caches. Plain data, as the API has it: base64 is decoded where the files are written, not on main.
 */
import type { Failure } from '../errors/kubelet-error.ts';

export type PodObjectRef =
  | { readonly kind: 'Secret' | 'ConfigMap'; readonly namespace: string; readonly name: string }
  | TokenRef
  | { readonly kind: 'TrustBundle'; readonly name: string; readonly optional: boolean }
  /** Without a selector nothing matches; one without requirements matches all. */
  | {
      readonly kind: 'SignerTrustBundles';
      readonly signerName: string;
      readonly labelSelector: LabelSelector | undefined;
      readonly optional: boolean;
    }
  | PodCertificateRef
  | ServicesRef;

/** A key and the certificates for it, as a projected volume of the pod that asks has them among its sources. */
export interface PodCertificateRef {
  readonly kind: 'PodCertificate';
  readonly volume: string;
  readonly sourceIndex: number;
}

/** A token for a service account, bound to the pod. */
export interface TokenRef {
  readonly kind: 'Token';
  readonly namespace: string;
  readonly serviceAccountName: string;
  readonly podName: string;
  readonly podUID: string;
  /** Empty: the API server's own. */
  readonly audience: string;
  readonly expirationSeconds: number;
  /** What the volume holds already, of an earlier life of the kubelet: it is kept as long as it is good. */
  readonly onDisk?: string;
}

/** The services that a pod's environment tells of. */
export interface ServicesRef {
  readonly kind: 'Services';
  readonly namespace: string;
  /** Those of the namespace too (enableServiceLinks), not only the API server's own. */
  readonly links: boolean;
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] }[];
}

export type PodObject =
  | SecretObject
  | ConfigMapObject
  | { readonly kind: 'Token'; readonly token: string }
  /** PEM, one certificate after the other. */
  | { readonly kind: 'TrustAnchors'; readonly pem: string }
  /** PEM: a PKCS#8 key, and its certificate with those behind it. */
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
  /** Never empty, never `None`. */
  readonly clusterIP: string;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
}

/**
 * Reasons of failures: `NotFound`, which an optional reference forgives; `NoClient`, this kubelet runs standalone; all others may be over
 * soon. Messages are upstream's.
 */
export type PodObjectResult =
  | { readonly outcome: 'value'; readonly value: PodObject }
  | { readonly outcome: 'failed'; readonly failure: Failure };

/** An image pull secret as it goes on to the images thread. */
export interface PullSecret {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly type: string;
  /** Base64, by key. */
  readonly data: Readonly<Record<string, string>>;
}
