/**
 * metrics-server, as a process beside the control plane. Its permissions are those of its own manifests. The API server calls it as the extension
 * metrics.k8s.io, by an ExternalName service, since nothing routes the addresses of services here.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateAuthority } from '../../../lab/control-plane/control-plane-certificates.ts';
import type { ControlPlaneAccess } from '../../../lab/control-plane/control-plane-access.ts';
import { reservePort } from '../../../lab/host/reserve-ports.ts';
import { ControlPlaneProcess, stopProgram } from '../../../lab/control-plane/control-plane-process.ts';
import { ensureMetricsServer } from '../../../lab/programs/metrics-server.ts';
import { removeFolder } from '../../../lab/host/remove-folder.ts';
import { waitUntil, type TestHooks } from '../runtime/simulated-runtime.ts';
import type { TestCluster } from './control-plane.ts';

const name = 'metrics-server';
const namespace = 'kube-system';
const rbac = 'rbac.authorization.k8s.io';

/** The flags of an API server that calls extensions in the name of its clients. */
export function aggregationFlags(t: TestHooks): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'front-proxy-'));
  t.after(async () => removeFolder(folder));
  const authority = new CertificateAuthority(folder, 'front-proxy-ca');
  const { certFile, keyFile } = authority.issue('client', { commonName: 'front-proxy-client', usages: ['clientAuth'] });
  return [
    `--requestheader-client-ca-file=${authority.certFile}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${certFile}`,
    `--proxy-client-key-file=${keyFile}`,
  ];
}

/** Starts it, and waits until the API server serves its resources. It is stopped at the end of the test. */
export async function startMetricsServer<C extends ControlPlaneAccess>(t: TestHooks, cluster: TestCluster<C>): Promise<void> {
  const { controlPlane } = cluster;
  const port = await reservePort();
  await createObjects(cluster, port);
  const kubeconfig = controlPlane.tokenKubeconfig(name, await cluster.serviceAccountToken(namespace, name));
  const program = new ControlPlaneProcess({
    name,
    folder: controlPlane.folder,
    binary: await ensureMetricsServer(() => {}),
    flags: [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      `--cert-dir=${join(controlPlane.folder, name)}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--kubelet-certificate-authority=${controlPlane.caFile}`,
      '--kubelet-preferred-address-types=InternalIP',
      '--kubelet-use-node-status-port',
      // The shortest that it accepts.
      '--metric-resolution=10s',
      '--kubelet-request-timeout=5s',
    ],
    detached: false,
  });
  t.after(() => stopProgram(controlPlane.folder, name, 2000));
  program.start();
  const isServed = async () => {
    const { status } = await cluster.api.get<{ status?: { conditions?: { type: string; status: string }[] } }>(apiService);
    return status?.conditions?.some((condition) => condition.type === 'Available' && condition.status === 'True') ?? false;
  };
  await program.waitUntilReady(isServed, 60_000);
  // Until it has scraped a node twice it has no metrics.
  await waitUntil('a node has metrics', async () => (await nodeMetrics(cluster)).length > 0, 60_000);
}

const apiService = '/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io';

export interface UsageMetrics {
  readonly metadata: { readonly name: string };
  /** The end of the time window of the processor's usage. */
  readonly timestamp: string;
  /** `10.004s` */
  readonly window: string;
  readonly usage?: { readonly cpu: string; readonly memory: string };
  readonly containers?: readonly { readonly name: string; readonly usage: { readonly cpu: string; readonly memory: string } }[];
}

async function nodeMetrics({ api }: TestCluster): Promise<readonly UsageMetrics[]> {
  return (await api.get<{ items: UsageMetrics[] }>('/apis/metrics.k8s.io/v1beta1/nodes').catch(() => ({ items: [] }))).items;
}

async function createObjects({ api }: TestCluster, port: number): Promise<void> {
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  const role = (kind: string, of: string) => ({ apiGroup: rbac, kind, name: of });
  const rules = [
    { apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] },
    { apiGroups: [''], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] },
  ];
  const objects: [string, object][] = [
    [`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } }],
    [`/apis/${rbac}/v1/clusterroles`, { metadata: { name: `system:${name}` }, rules }],
    [
      `/apis/${rbac}/v1/clusterrolebindings`,
      { metadata: { name: `system:${name}` }, roleRef: role('ClusterRole', `system:${name}`), subjects },
    ],
    [
      `/apis/${rbac}/v1/clusterrolebindings`,
      { metadata: { name: `${name}:system:auth-delegator` }, roleRef: role('ClusterRole', 'system:auth-delegator'), subjects },
    ],
    [
      `/apis/${rbac}/v1/namespaces/${namespace}/rolebindings`,
      { metadata: { name: `${name}-auth-reader` }, roleRef: role('Role', 'extension-apiserver-authentication-reader'), subjects },
    ],
    [
      `/api/v1/namespaces/${namespace}/services`,
      { metadata: { name }, spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ name: 'https', port }] } },
    ],
    [
      '/apis/apiregistration.k8s.io/v1/apiservices',
      {
        metadata: { name: 'v1beta1.metrics.k8s.io' },
        spec: {
          service: { name, namespace, port },
          group: 'metrics.k8s.io',
          version: 'v1beta1',
          insecureSkipTLSVerify: true,
          groupPriorityMinimum: 100,
          versionPriority: 100,
        },
      },
    ],
  ];
  for (const [path, object] of objects) await api.create(path, object);
}
