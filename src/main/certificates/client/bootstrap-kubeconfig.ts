/**
 * The kubeconfig that a bootstrapped kubelet leaves: the cluster of `--bootstrap-kubeconfig`, and the certificate in `--cert-dir` (upstream:
 * writeKubeconfigFromBootstrapping). Pure.
 */
import { stringify } from 'yaml';
import type { Kubeconfig, KubeconfigCluster } from '../../api/index.ts';

/** @param pemPath the link to the current certificate and key */
export function kubeconfigFromBootstrap({ cluster }: Kubeconfig, pemPath: string): Kubeconfig {
  const file = { path: pemPath };
  return {
    cluster,
    namespace: 'default',
    warnings: [],
    user: {
      clientCertificate: { certificate: file, key: file },
      token: '',
      tokenFile: '',
      basic: null,
      exec: null,
      impersonate: null,
    },
  };
}

/**
 * The bytes that client-go writes. Upstream forgets the proxy and the server's name, without which the next start may not reach the API
 * server; they follow in client-go's order.
 */
export function renderKubeconfig({ cluster }: Kubeconfig, pemPath: string): string {
  const content = {
    apiVersion: 'v1',
    clusters: [{ cluster: clusterFields(cluster), name: 'default-cluster' }],
    contexts: [{ context: { cluster: 'default-cluster', namespace: 'default', user: 'default-auth' }, name: 'default-context' }],
    'current-context': 'default-context',
    kind: 'Config',
    users: [{ name: 'default-auth', user: { 'client-certificate': pemPath, 'client-key': pemPath } }],
  };
  return stringify(content, { indentSeq: false, lineWidth: 0 });
}

function clusterFields(cluster: KubeconfigCluster): object {
  const { server, certificateAuthority: authority, tlsServerName, insecureSkipTLSVerify, proxyURL, disableCompression } = cluster;
  return {
    ...(authority && 'path' in authority && { 'certificate-authority': authority.path }),
    ...(authority && 'data' in authority && { 'certificate-authority-data': authority.data.toString('base64') }),
    ...(disableCompression && { 'disable-compression': true }),
    ...(insecureSkipTLSVerify && { 'insecure-skip-tls-verify': true }),
    ...(proxyURL !== '' && { 'proxy-url': proxyURL }),
    server: server.href.replace(/\/$/, ''),
    ...(tlsServerName !== '' && { 'tls-server-name': tlsServerName }),
  };
}
