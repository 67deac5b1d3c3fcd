/** Connects the serving certificate from the cluster (`serverTLSBootstrap`) with the server thread and the Node. */
import type { ServingCertificate } from '../certificates/index.ts';
import type { ClusterNode } from '../node/index.ts';
import type { ServerThread } from '../threads/server-thread.ts';
import type { Cluster } from './cluster.ts';
import type { KubeletContext } from './kubelet-context.ts';

/** Returns null without serverTLSBootstrap: the server then uses certificate files, and the code for certificates is not loaded. */
export async function loadServingCertificate(
  { clock, options, nodeName, log, shutdown }: KubeletContext,
  server: ServerThread,
): Promise<ServingCertificate | null> {
  const { config, flags, featureGates } = options;
  if (!config.serverTLSBootstrap || !config.enableServer) {
    shutdown.register('serving-certificate', async () => {});
    return null;
  }
  const { ServingCertificate } = await import('../certificates/index.ts');
  const { tlsCertFile: cert, tlsPrivateKeyFile: key } = config;
  const serving = await ServingCertificate.load({
    nodeName,
    certDirectory: flags.certDirectory,
    files: cert !== '' && key !== '' ? { cert, key } : null,
    allowsDNSOnly: featureGates.enabled('AllowDNSOnlyNodeCSR'),
    serve: (pair) => server.setServingCertificate({ cert: pair.cert, key: pair.key }),
    clock,
    logger: log('serving-certificate'),
  });
  shutdown.register('serving-certificate', () => serving.close());
  return serving;
}

/** Requests the certificate once the Node is known. A standalone kubelet has only the stored one. */
export function followNodeAddresses(serving: ServingCertificate | null, cluster: Cluster | null, clusterNode: ClusterNode | null): void {
  if (!serving || !cluster || !clusterNode) return;
  const update = () => serving.setAddresses(clusterNode.store.get()?.status?.addresses ?? []);
  clusterNode.store.onChange(update);
  update();
  serving.start(cluster.client);
}
