/**
 * The part of a cluster that kubeadm sets up for nodes that join: bootstrap tokens, who may request certificates, and which requests are approved by
 * themselves.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlPlane } from '../../../lab/control-plane/control-plane.ts';
import { writeKubeconfig } from '../../../lab/control-plane/control-plane-kubeconfig.ts';
import { waitUntil, type TestHooks } from '../runtime/simulated-runtime.ts';
import { TestNode, type TestNodeOptions } from '../kubelet/test-node.ts';
import { conditionOf } from './cluster-node.ts';
import type { TestCluster } from './control-plane.ts';

const joiningGroup = 'system:bootstrappers:kubeadm:default-node-token';
/** Its requests need an approval by hand. */
const manualGroup = 'system:bootstrappers:manual';
const requestsPath = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

export interface SigningRequest {
  readonly metadata: { readonly name: string; readonly creationTimestamp: string };
  readonly spec: {
    readonly signerName: string;
    readonly username: string;
    readonly usages: readonly string[];
    /** Base64 of PEM. */
    readonly request: string;
  };
  readonly status?: { readonly certificate?: string; readonly conditions?: readonly { readonly type: string }[] };
}

/** Which roles kubeadm binds to whom. */
const bindings = {
  'kubeadm:kubelet-bootstrap': { role: 'system:node-bootstrapper', group: joiningGroup },
  'kubelet-bootstrap-manual': { role: 'system:node-bootstrapper', group: manualGroup },
  'kubeadm:node-autoapprove-bootstrap': { role: 'system:certificates.k8s.io:certificatesigningrequests:nodeclient', group: joiningGroup },
  'kubeadm:node-autoapprove-certificate-rotation': {
    role: 'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient',
    group: 'system:nodes',
  },
};

/** Allows nodes to join. Called once per cluster. */
export async function allowJoining({ api }: TestCluster): Promise<void> {
  for (const [name, { role, group }] of Object.entries(bindings)) {
    await api.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }],
    });
  }
}

/** `manual`: its requests are not approved by themselves. `powerless`: it may not request certificates. */
export type BootstrapToken = 'automatic' | 'manual' | 'powerless' | 'expired';

/** Returns the path of a kubeconfig with a new bootstrap token. */
export async function bootstrapKubeconfig(
  { api, controlPlane }: TestCluster<ControlPlane>,
  kind: BootstrapToken = 'automatic',
): Promise<string> {
  const [id, secret] = [randomBytes(3).toString('hex'), randomBytes(8).toString('hex')];
  await api.create('/api/v1/namespaces/kube-system/secrets', {
    metadata: { name: `bootstrap-token-${id}` },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      'token-id': id,
      'token-secret': secret,
      'usage-bootstrap-authentication': 'true',
      ...(kind !== 'powerless' && { 'auth-extra-groups': kind === 'manual' ? manualGroup : joiningGroup }),
      ...(kind === 'expired' && { expiration: new Date(Date.now() - 60_000).toISOString().replace(/\.\d+/, '') }),
    },
  });
  const path = join(controlPlane.folder, `bootstrap-${id}.kubeconfig`);
  const { url, caFile } = controlPlane;
  writeKubeconfig(path, { url, caFile, user: 'tls-bootstrap-token-user', credentials: { token: `${id}.${secret}` } });
  return path;
}

export interface JoiningNode {
  readonly node: TestNode;
  readonly nodeName: string;
  readonly port: number;
  /** `--cert-dir`. */
  readonly certDir: string;
  /** `--kubeconfig`. */
  readonly kubeconfig: string;
}

/** A node that has no credentials but those of the bootstrap kubeconfig. Its kubelet is not started. */
export async function prepareJoiningNode(
  t: TestHooks,
  cluster: TestCluster<ControlPlane>,
  nodeName: string,
  options: TestNodeOptions & { readonly bootstrap: string },
): Promise<JoiningNode> {
  const member = await cluster.member(t, nodeName);
  const folder = join(cluster.controlPlane.folder, `node-${nodeName}`);
  mkdirSync(folder, { recursive: true });
  const [certDir, kubeconfig] = [join(folder, 'pki'), join(folder, 'kubelet.conf')];
  const paths = ['--kubeconfig', kubeconfig, '--bootstrap-kubeconfig', options.bootstrap, '--cert-dir', certDir];
  const node = await TestNode.start(t, {
    ...options,
    config: { ...member.config, ...options.config },
    flags: [...paths, '--hostname-override', nodeName, ...(options.flags ?? [])],
  });
  return { node, nodeName, port: member.port, certDir, kubeconfig };
}

export async function untilReady({ api }: TestCluster, { node, nodeName }: JoiningNode): Promise<void> {
  await waitUntil(
    `${nodeName} is Ready`,
    async () => conditionOf((await api.find<{ status?: object }>(`/api/v1/nodes/${nodeName}`))?.status as never, 'Ready') === 'True',
    90_000,
  ).catch((err: unknown) => {
    throw new Error(`${String(err)}\n${node.log().split('\n').slice(-30).join('\n')}`, { cause: err });
  });
}

/** The certificate requests for this node, oldest first. */
export async function requestsOf({ api }: TestCluster, nodeName: string): Promise<SigningRequest[]> {
  const { items } = await api.get<{ items: SigningRequest[] }>(requestsPath);
  const ours = items.filter(({ spec }) => subjectOf(spec.request).includes(`system:node:${nodeName}`));
  return ours.toSorted((a, b) => Date.parse(a.metadata.creationTimestamp) - Date.parse(b.metadata.creationTimestamp));
}

/** The bytes of the request, whose strings are readable. */
function subjectOf(request: string): string {
  const pem = Buffer.from(request, 'base64').toString();
  return Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64').toString('latin1');
}
