/** What the current context of a kubeconfig says, checked: where the server is and how to know it, and who we are. Paths are absolute. */

export interface Kubeconfig {
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
  /** Of the context; `default` when it names none. */
  readonly namespace: string;
}

export interface KubeconfigCluster {
  /** With scheme; a path, if any, stands before each call's and has no slash at its end. */
  readonly server: URL;
  /** Whom the server's certificate must be for, when not its host. */
  readonly tlsServerName: string;
  readonly insecureSkipTLSVerify: boolean;
  /** The host's own authorities when neither is given. */
  readonly certificateAuthority: FileOrData | null;
  readonly proxyURL: string;
  readonly disableCompression: boolean;
  /** What exec plugins are told when they ask for the cluster. */
  readonly execConfig: unknown;
}

/** Data wins where a kubeconfig has both: upstream refuses that, and so do we; each field has one of the two. */
export type FileOrData = { readonly path: string } | { readonly data: Buffer };

export interface KubeconfigUser {
  readonly clientCertificate: { readonly certificate: FileOrData; readonly key: FileOrData } | null;
  readonly token: string;
  /** Its last content read is used rather than `token`. */
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
