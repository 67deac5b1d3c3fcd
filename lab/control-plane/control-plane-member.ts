/** The settings of a kubelet that joins a control plane: its kubeconfig and the API server's part of its configuration. */
import type { ControlPlaneAccess } from './control-plane-access.ts';

/** The cluster DNS address. No server runs there, because no DNS image can be built from the distribution's packages. */
export const clusterDnsIp = '10.96.0.10';

export interface ClusterMember {
  /** The value of `--kubeconfig`. */
  readonly kubeconfig: string;
  /** Fields of KubeletConfiguration, without those for the runtime and folders. */
  readonly configuration: Readonly<Record<string, unknown>>;
}

/**
 * @param port the kubelet's secure port; it listens on all addresses, because the API server connects to the node's address
 * @param ips of the node. Default: those of this host
 */
export function clusterMember(controlPlane: ControlPlaneAccess, nodeName: string, port: number, ips?: readonly string[]): ClusterMember {
  const { certFile, keyFile } = controlPlane.kubeletServingCertificate(nodeName, ips);
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
