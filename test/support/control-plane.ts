/**
 * A real API server for tests, as a user has it: kubectl, an admin's client, namespaces and node names of one's own.
 *
 *   const cluster = await sharedCluster();                    // one control plane for all test files of a run; starts in 5 s, once
 *   after(() => cluster.close());
 *   const namespace = await cluster.namespace(t);             // with its default service account; gone when the test ends
 *   const member = await cluster.member(t, 'node-a');         // { nodeName, port, config, flags }: TestNode.start(t, member)
 *   await cluster.kubectl('apply', '-f', file);               // stdout; throws with stderr
 *   await cluster.api.get<Pod>(`/api/v1/namespaces/${namespace}/pods/web`);
 *
 *   const cluster = await privateCluster(t);                  // for faults: cluster.controlPlane.stopApiServer(), restartEtcdEmpty(), …
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiClient } from '../../scripts/host/control-plane-api.ts';
import type { ControlPlaneAccess } from '../../scripts/host/control-plane-access.ts';
import { clusterMember } from '../../scripts/host/control-plane-member.ts';
import { findStablePorts } from '../../scripts/host/control-plane-ports.ts';
import { ControlPlane, type ControlPlaneOptions } from '../../scripts/host/control-plane.ts';
import { removeFolder } from '../../scripts/host/private-containerd.ts';
import { findOrStartControlPlane } from './control-plane-run.ts';
import { waitUntil, type TestHooks } from './simulated-runtime.ts';

export { ApiError, type ApiClient, type WatchEvent } from '../../scripts/host/control-plane-api.ts';

export interface KubectlOptions {
  readonly input?: string;
  readonly timeoutMs?: number;
  /** Of another user than cluster-admin. */
  readonly kubeconfig?: string;
}
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface TestMember {
  readonly nodeName: string;
  /** Where its server listens, for the API server and for the test. */
  readonly port: number;
  /** Fields of KubeletConfiguration. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly flags: readonly string[];
}

export class TestCluster<C extends ControlPlaneAccess = ControlPlaneAccess> {
  readonly controlPlane: C;
  /** As cluster-admin. */
  readonly api: ApiClient;

  constructor(controlPlane: C) {
    this.controlPlane = controlPlane;
    this.api = controlPlane.client();
  }

  /** What it prints. Throws, with what it complains of, when it does not exit with 0. */
  async kubectl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.runKubectl(args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  }

  /** To its end, whatever that is; killed after `timeoutMs`, 30 s by default, and its code is then null. */
  async runKubectl(args: readonly string[], options: KubectlOptions = {}): Promise<CommandResult> {
    const { input = '', timeoutMs = 30_000 } = options;
    const [command, all, env] = this.kubectlCommand(args, options.kubeconfig);
    const child = spawn(command, all, { env, timeout: timeoutMs, killSignal: 'SIGKILL' });
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => (output[stream] += text));
    }
    // One that does not read its input may be gone before it was given.
    child.stdin.on('error', () => {}).end(input);
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, ...output };
  }

  /** For a kubectl that goes on (logs -f, exec -it, port-forward): the arguments of `spawn`. */
  kubectlCommand(args: readonly string[], kubeconfig = this.controlPlane.adminKubeconfig): [string, string[], NodeJS.ProcessEnv] {
    // Its cache and its preferences are the cluster's, not the host's.
    const env = { ...process.env, HOME: this.controlPlane.folder, KUBECONFIG: kubeconfig, KUBERC: 'off' };
    return [this.controlPlane.kubectl, [...args], env];
  }

  /** A new namespace, ready for pods. It goes when the test ends, without waiting for what is in it. */
  async namespace(t: TestHooks): Promise<string> {
    const made = await this.api.create<{ metadata: { name: string } }>('/api/v1/namespaces', { metadata: { generateName: 'test-' } });
    const { name } = made.metadata;
    t.after(() => this.#clean(`/api/v1/namespaces/${name}`));
    await waitUntil(`${name} has its service account`, () => this.api.find(`/api/v1/namespaces/${name}/serviceaccounts/default`));
    await waitUntil(`${name} has its root CA`, () => this.api.find(`/api/v1/namespaces/${name}/configmaps/kube-root-ca.crt`));
    return name;
  }

  /** What a kubelet of that name needs to join. Its Node is deleted when the test ends, so that nothing is scheduled to it later. */
  async member(t: TestHooks, nodeName: string): Promise<TestMember> {
    const [port = 0] = await findStablePorts(1);
    const { kubeconfig, configuration } = clusterMember(this.controlPlane, nodeName, port);
    t.after(() => this.#clean(`/api/v1/nodes/${nodeName}`));
    return { nodeName, port, config: configuration, flags: ['--kubeconfig', kubeconfig, '--hostname-override', nodeName] };
  }

  /** A bearer token, as a pod of that service account has it. */
  async serviceAccountToken(
    namespace: string,
    name = 'default',
    spec: { readonly audiences?: readonly string[]; readonly expirationSeconds?: number } = {},
  ): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    const { status } = await this.api.create<{ status: { token: string } }>(path, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec,
    });
    return status.token;
  }

  /** Its connections; the control plane goes on. */
  close(): Promise<void> {
    return this.api.close();
  }

  /** Afterwards, when this client may be closed and the control plane gone. A hook that fails would keep those after it from running. */
  async #clean(path: string): Promise<void> {
    try {
      const api = this.controlPlane.client();
      await api.delete(path).catch(() => {});
      await api.close();
    } catch {
      // Not even its certificates are there any more.
    }
  }
}

/** The one that all test files of this run share: leave nothing in it that another test could trip over. Close it when the tests end. */
export async function sharedCluster(): Promise<TestCluster> {
  return new TestCluster(await findOrStartControlPlane());
}

/** One of the test's own, gone when the test ends: to be stopped, emptied, or started with other flags. Costs 5 s and 600 MB. */
export async function privateCluster(t: TestHooks, options: Omit<ControlPlaneOptions, 'folder'> = {}): Promise<TestCluster<ControlPlane>> {
  const folder = mkdtempSync(join(tmpdir(), 'control-plane-'));
  let cluster: TestCluster<ControlPlane> | undefined;
  t.after(async () => {
    await cluster?.close();
    await cluster?.controlPlane.stop();
    removeFolder(folder);
  });
  cluster = new TestCluster(await ControlPlane.start({ ...options, folder }));
  return cluster;
}
