/** The validated current context of a kubeconfig: the API server and the user. Paths are absolute. */

export interface Kubeconfig {
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
  /** The context's namespace, or `default`. */
  readonly namespace: string;
  /** Problems that upstream tolerates, too: what was ignored or is missing. One sentence each, without values. */
  readonly warnings: readonly string[];
}

export interface KubeconfigCluster {
  /** Has a scheme. A path, if any, is the prefix of every call's path and has no trailing slash. */
  readonly server: URL;
  /** The name that the server's certificate must have. Empty: the URL's host. */
  readonly tlsServerName: string;
  readonly insecureSkipTLSVerify: boolean;
  /** Null: the host's own certificate authorities. */
  readonly certificateAuthority: FileOrData | null;
  readonly proxyURL: string;
  readonly disableCompression: boolean;
  /** Passed to exec plugins as `spec.cluster.config`. */
  readonly execConfig: unknown;
}

/** A kubeconfig with both a file and data for one field is rejected, as upstream does. */
export type FileOrData = { readonly path: string } | { readonly data: Buffer };

export interface KubeconfigUser {
  readonly clientCertificate: { readonly certificate: FileOrData; readonly key: FileOrData } | null;
  readonly token: string;
  /** The content of this file takes precedence over `token`. */
  readonly tokenFile: string;
  readonly basic: { readonly username: string; readonly password: string } | null;
  readonly exec: ExecPluginConfig | null;
  readonly impersonate: Impersonation | null;
}

export interface Impersonation {
  readonly user: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const execAPIVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'] as const;

export interface ExecPluginConfig {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: (typeof execAPIVersions)[number];
  readonly installHint: string;
  readonly provideClusterInfo: boolean;
}
