/** Writes kubeconfig files with one cluster and one user. Certificates are embedded, so that the file can be copied. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import type { CertificateFiles } from './control-plane-certificates.ts';

export interface KubeconfigOptions {
  readonly url: string;
  readonly caFile: string;
  readonly user: string;
  /** A client certificate, or a bearer token. */
  readonly credentials: CertificateFiles | { readonly token: string };
}

export function writeKubeconfig(path: string, { url, caFile, user, credentials }: KubeconfigOptions): void {
  const cluster = 'kubelet-ts';
  const base64 = (file: string) => readFileSync(file).toString('base64');
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: cluster, cluster: { server: url, 'certificate-authority-data': base64(caFile) } }],
    users: [
      {
        name: user,
        user:
          'token' in credentials
            ? { token: credentials.token }
            : { 'client-certificate-data': base64(credentials.certFile), 'client-key-data': base64(credentials.keyFile) },
      },
    ],
    contexts: [{ name: cluster, context: { cluster, user } }],
    'current-context': cluster,
  };
  // Replaced atomically, because another process may read the file.
  const part = `${path}.${process.pid}`;
  writeFileSync(part, stringify(kubeconfig), { mode: 0o600 });
  renameSync(part, path);
}
