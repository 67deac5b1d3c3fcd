/** The plugins for image credentials: main reads their configuration, the images thread runs them, and asks main for tokens. */
import type { Failure } from '../errors/kubelet-error.ts';

/** A validated CredentialProvider of kubelet.config.k8s.io. */
export interface CredentialProvider {
  readonly name: string;
  /** The path of the executable. */
  readonly command: string;
  /** A version of credentialprovider.kubelet.k8s.io. */
  readonly apiVersion: string;
  /** Globs of registries, with optional port and path. */
  readonly matchImages: readonly string[];
  readonly defaultCacheDurationMs: number;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Null: the plugin gets no service account token. */
  readonly tokens: {
    readonly audience: string;
    readonly cacheType: 'ServiceAccount' | 'Token';
    /** The plugin is not used for pods without a service account. */
    readonly requireServiceAccount: boolean;
    readonly requiredAnnotations: readonly string[];
    readonly optionalAnnotations: readonly string[];
  } | null;
}

/** The calls of the images thread to main, over Comlink. */
export interface PullTokensApi {
  /** Reads the pod's service account and requests a token that is bound to the pod. Never rejects. */
  pullToken(request: PullTokenRequest): Promise<PullTokenReply>;
}

export interface PullTokenRequest {
  readonly namespace: string;
  readonly serviceAccountName: string;
  readonly podName: string;
  readonly podUID: string;
  readonly audience: string;
  readonly requiredAnnotations: readonly string[];
  readonly optionalAnnotations: readonly string[];
}

export type PullTokenReply =
  | {
      readonly outcome: 'granted';
      readonly serviceAccountUID: string;
      readonly token: string;
      /** The requested annotations that the service account has. */
      readonly annotations: Readonly<Record<string, string>>;
    }
  /** The service account lacks a required annotation. */
  | { readonly outcome: 'missing annotation'; readonly annotation: string }
  | { readonly outcome: 'failed'; readonly failure: Failure };
