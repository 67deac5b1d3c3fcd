/**
 * A real API server for tests, with kubectl, an admin client, and separate namespaces and node names.
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
import type { ApiClient } from '../../../lab/control-plane/control-plane-api.ts';
import type { ControlPlaneAccess } from '../../../lab/control-plane/control-plane-access.ts';
import { clusterMember } from '../../../lab/control-plane/control-plane-member.ts';
import { reservePort } from '../../../lab/host/reserve-ports.ts';
import { ControlPlane, type ControlPlaneOptions } from '../../../lab/control-plane/control-plane.ts';
import { removeFolder } from '../../../lab/host/remove-folder.ts';
import { findOrStartControlPlane } from './control-plane-run.ts';
import { waitUntil, type TestHooks } from '../runtime/simulated-runtime.ts';

export { ApiError, type ApiClient, type WatchEvent } from '../../../lab/control-plane/control-plane-api.ts';

export interface KubectlOptions {
  readonly input?: string;
  readonly timeoutMs?: number;
  /** Default: cluster-admin's. */
  readonly kubeconfig?: string;
}
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface TestMember {
  readonly nodeName: string;
  /** The kubelet's secure port. */
  readonly port: number;
  /** Fields of KubeletConfiguration. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly flags: readonly string[];
}

export class TestCluster<C extends ControlPlaneAccess = ControlPlaneAccess> {
  readonly controlPlane: C;
  /** Authenticated as cluster-admin. */
  readonly api: ApiClient;

  constructor(controlPlane: C) {
    this.controlPlane = controlPlane;
    this.api = controlPlane.client();
  }

  /** Returns stdout. Rejects with stderr when the exit code is not 0. */
  async kubectl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.runKubectl(args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  }

  /** Runs kubectl. It is killed after `timeoutMs` (default: 30 s); the code is null then. */
  async runKubectl(args: readonly string[], options: KubectlOptions = {}): Promise<CommandResult> {
    const { input = '', timeoutMs = 30_000 } = options;
    const [command, all, env] = this.kubectlCommand(args, options.kubeconfig);
    const child = spawn(command, all, { env, timeout: timeoutMs, killSignal: 'SIGKILL' });
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => (output[stream] += text));
    }
    // kubectl may end before its input was written.
    child.stdin.on('error', () => {}).end(input);
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, ...output };
  }

  /** Returns the arguments of `spawn` for a long-running kubectl (logs -f, exec -it, port-forward). */
  kubectlCommand(args: readonly string[], kubeconfig = this.controlPlane.adminKubeconfig): [string, string[], NodeJS.ProcessEnv] {
    // Keeps kubectl's cache and preferences in the cluster's folder.
    const env = { ...process.env, HOME: this.controlPlane.folder, KUBECONFIG: kubeconfig, KUBERC: 'off' };
    return [this.controlPlane.kubectl, [...args], env];
  }

  /** Creates a namespace that is ready for pods. It is deleted at the end of the test, without waiting for its objects. */
  async namespace(t: TestHooks): Promise<string> {
    const created = await this.api.create<{ metadata: { name: string } }>('/api/v1/namespaces', { metadata: { generateName: 'test-' } });
    const { name } = created.metadata;
    t.after(() => this.#clean(`/api/v1/namespaces/${name}`));
    await waitUntil(`${name} has its service account`, () => this.api.find(`/api/v1/namespaces/${name}/serviceaccounts/default`));
    await waitUntil(`${name} has its root CA`, () => this.api.find(`/api/v1/namespaces/${name}/configmaps/kube-root-ca.crt`));
    return name;
  }

  /** Returns the settings of a kubelet that joins the cluster. Its Node is deleted at the end of the test, so that no pod is scheduled to it. */
  async member(t: TestHooks, nodeName: string): Promise<TestMember> {
    const port = await reservePort();
    const { kubeconfig, configuration } = clusterMember(this.controlPlane, nodeName, port);
    t.after(() => this.#clean(`/api/v1/nodes/${nodeName}`));
    return { nodeName, port, config: configuration, flags: ['--kubeconfig', kubeconfig, '--hostname-override', nodeName] };
  }

  /** Requests a bearer token of a service account. */
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

  /** Closes the client's connections. The control plane keeps running. */
  close(): Promise<void> {
    return this.api.close();
  }

  /** Deletes an object in a cleanup, with a new client. Never fails, because a failing hook would prevent later hooks. */
  async #clean(path: string): Promise<void> {
    try {
      const api = this.controlPlane.client();
      await api.delete(path).catch(() => {});
      await api.close();
    } catch {
      // The control plane and its certificates were removed.
    }
  }
}

/** Returns the cluster that all test files of the run share. Tests must clean up their objects and close the cluster. */
export async function sharedCluster(): Promise<TestCluster> {
  return new TestCluster(await findOrStartControlPlane());
}

export interface PrivateClusterOptions extends Omit<ControlPlaneOptions, 'folder'> {
  /** Called before the start. Certificates that exist in `pki` are used. */
  readonly prepareFolder?: (folder: string) => void;
}

/** Starts a separate cluster for a test that stops or empties it or needs other flags. Costs 5 s and 600 MB. */
export async function privateCluster(
  t: TestHooks,
  { prepareFolder, ...options }: PrivateClusterOptions = {},
): Promise<TestCluster<ControlPlane>> {
  const folder = mkdtempSync(join(tmpdir(), 'control-plane-'));
  prepareFolder?.(folder);
  let cluster: TestCluster<ControlPlane> | undefined;
  t.after(async () => {
    await cluster?.close();
    await cluster?.controlPlane.stop();
    removeFolder(folder);
  });
  cluster = new TestCluster(await ControlPlane.start({ ...options, folder }));
  return cluster;
}
