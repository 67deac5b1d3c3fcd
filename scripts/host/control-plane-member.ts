/** What a kubelet needs to join a control plane: its kubeconfig, and the part of its configuration that concerns the API server. */
import type { ControlPlaneAccess } from './control-plane-access.ts';

/** Where cluster DNS would be. Nothing answers there: no image of a DNS server can be built from the distribution's packages. */
export const clusterDnsIp = '10.96.0.10';

export interface ClusterMember {
  /** For `--kubeconfig`. */
  readonly kubeconfig: string;
  /** Fields of KubeletConfiguration, to be merged with those of runtime and folders. */
  readonly configuration: Readonly<Record<string, unknown>>;
}

/** `port`: where its server listens, on all addresses, since the API server calls the node's own. */
export function clusterMember(controlPlane: ControlPlaneAccess, nodeName: string, port: number): ClusterMember {
  const { certFile, keyFile } = controlPlane.kubeletServingCertificate(nodeName);
  return {
    kubeconfig: controlPlane.kubeletKubeconfig(nodeName),
    configuration: {
      registerNode: true,
      address: '0.0.0.0',
      port,
      readOnlyPort: 0,
      serverTLSBootstrap: false,
      tlsCertFile: certFile,
      tlsPrivateKeyFile: keyFile,
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: true, cacheTTL: '2m0s' },
        x509: { clientCAFile: controlPlane.caFile },
      },
      authorization: { mode: 'Webhook' },
      clusterDNS: [clusterDnsIp],
      clusterDomain: 'cluster.local',
    },
  };
}
