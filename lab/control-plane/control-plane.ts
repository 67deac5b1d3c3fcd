/**
 * A real control plane on loopback: etcd, kube-apiserver and, optionally, the controller manager and the scheduler, with all files in one
 * folder. Used by `npm run cluster`, the end-to-end tests and the benchmarks.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { stringify } from 'yaml';
import { auditLog, ControlPlaneAccess, loopback, stateFile, type SavedState } from './control-plane-access.ts';
import { type ApiClient, ApiError } from './control-plane-api.ts';
import { ensureControlPlane, type ControlPlaneBinaries } from '../programs/control-plane.ts';
import { serviceAccountKeys } from './control-plane-certificates.ts';
import {
  apiServerFlags,
  auditPolicy,
  controllerManagerFlags,
  etcdDataFolder,
  etcdFlags,
  kubernetesServiceIp,
  schedulerFlags,
  type ControlPlaneFiles,
  type ControlPlanePorts,
} from './control-plane-flags.ts';
import { reservePorts } from '../host/reserve-ports.ts';
import { ControlPlaneProcess, stopProgram } from './control-plane-process.ts';

export interface ControlPlaneOptions {
  /** Contains data, certificates, kubeconfigs and logs. Starting in an existing folder continues that cluster. */
  readonly folder: string;
  /** Provides service accounts, their root CA, deployments, jobs, node lifecycle and garbage collection. Default: true. */
  readonly controllerManager?: boolean;
  /** Default: true. */
  readonly scheduler?: boolean;
  /** Where the API server listens, and what its clients call it. Default: 127.0.0.1. */
  readonly address?: string;
  /** Keeps running when this process ends. Default: false. */
  readonly detached?: boolean;
  /** Additional flags of kube-apiserver, which override its defaults: `--max-requests-inflight=5`. */
  readonly apiServerFlags?: readonly string[];
  /** Additional flags of kube-controller-manager: `--cluster-signing-duration=1m`. */
  readonly controllerManagerFlags?: readonly string[];
  /** Additional flags of kube-scheduler: `--feature-gates=…`. */
  readonly schedulerFlags?: readonly string[];
  /** Called for each long step. */
  readonly progress?: (what: string) => void;
}

/** On an idle host it takes 5 s; in a guest beside another guest more than 90 s were seen. A program that ends is noticed at once. */
const readyDeadlineMs = 240_000;
/** Short, because kube-apiserver waits a minute for its watches to end. */
const apiServerGraceMs = 1000;
const graceMs = 5000;

export class ControlPlane extends ControlPlaneAccess {
  readonly #etcd: ControlPlaneProcess;
  readonly #apiServer: ControlPlaneProcess;
  readonly #controllers: readonly ControlPlaneProcess[];
  readonly #ports: ControlPlanePorts;
  readonly #withServiceAccounts: boolean;

  private constructor(options: ControlPlaneOptions, state: SavedState) {
    super(options.folder, state);
    const { folder, controllerManager = true, scheduler = true, detached = false } = options;
    const { ports, binaries } = state;
    this.#ports = ports;
    this.#withServiceAccounts = controllerManager;
    const files = this.#files();
    writeFileSync(files.auditPolicy, stringify(auditPolicy));
    const program = (name: keyof ControlPlaneBinaries, flags: readonly string[]) =>
      new ControlPlaneProcess({ name, folder, binary: binaries[name], flags, detached });
    this.#etcd = program('etcd', etcdFlags(ports, files));
    this.#apiServer = program('kube-apiserver', [...apiServerFlags(ports, files), ...(options.apiServerFlags ?? [])]);
    this.#controllers = [
      ...(controllerManager
        ? [program('kube-controller-manager', [...controllerManagerFlags(ports, files), ...(options.controllerManagerFlags ?? [])])]
        : []),
      ...(scheduler ? [program('kube-scheduler', [...schedulerFlags(ports, files), ...(options.schedulerFlags ?? [])])] : []),
    ];
  }

  /** Builds missing programs, starts those that do not run, and waits until all are ready: about 5 s. */
  static async start(options: ControlPlaneOptions): Promise<ControlPlane> {
    const { folder } = options;
    const binaries = await ensureControlPlane(options.progress ?? (() => {}));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const state = { ports: savedPorts(folder) ?? (await newPorts()), binaries, address: options.address ?? loopback };
    writeFileSync(stateFile(folder), JSON.stringify(state));
    const controlPlane = new ControlPlane(options, state);
    try {
      await controlPlane.#startAll();
    } catch (err) {
      await controlPlane.stop();
      throw err;
    }
    return controlPlane;
  }

  /** Ends every program. Data and certificates are kept. */
  stop(): Promise<void> {
    return stopControlPlane(this.folder);
  }

  /** Stops the API server. With `graceMs` 0, requests are interrupted. */
  stopApiServer(graceMs = apiServerGraceMs): Promise<void> {
    return stopProgram(this.folder, 'kube-apiserver', graceMs);
  }

  /** Starts the API server on the same port with the same data. Resolves when it is ready. */
  async startApiServer(): Promise<void> {
    this.#apiServer.start();
    await this.#waitForApiServer();
  }

  /** Restarts with an empty etcd: a new cluster with the same address and certificates. */
  async restartEtcdEmpty(): Promise<void> {
    await this.stop();
    rmSync(etcdDataFolder(this.folder), { recursive: true, force: true });
    await this.#startAll();
  }

  /** Saves a copy of etcd's data for `restoreEtcd`. */
  async saveEtcd(): Promise<void> {
    const data = etcdDataFolder(this.folder);
    await this.stop();
    cpSync(data, `${data}-saved`, { recursive: true });
    await this.#startAll();
  }

  /** Restores the data of `saveEtcd`, including resource versions. */
  async restoreEtcd(): Promise<void> {
    const data = etcdDataFolder(this.folder);
    await this.stop();
    rmSync(data, { recursive: true });
    cpSync(`${data}-saved`, data, { recursive: true });
    await this.#startAll();
  }

  async #startAll(): Promise<void> {
    // Started concurrently: the API server retries until etcd is ready.
    this.#etcd.start();
    this.#apiServer.start();
    await this.#waitForApiServer();
    for (const program of this.#controllers) program.start();
    await Promise.all(this.#controllers.map((program) => this.#waitForController(program)));
    if (this.#withServiceAccounts) await this.#waitForDefaultServiceAccount();
  }

  async #waitForApiServer(): Promise<void> {
    const client = this.client();
    try {
      await this.#apiServer.waitUntilReady(async () => (await client.text('/readyz')) === 'ok', readyDeadlineMs);
      await allowKubeletApi(client);
    } finally {
      await client.close();
    }
  }

  async #waitForController(program: ControlPlaneProcess): Promise<void> {
    const port = program.name === 'kube-scheduler' ? this.#ports.scheduler : this.#ports.controllerManager;
    // The program creates a self-signed serving certificate at its start.
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    try {
      await program.waitUntilReady(async () => {
        const { statusCode, body } = await request(`https://127.0.0.1:${port}/healthz`, { dispatcher, signal: AbortSignal.timeout(2000) });
        await body.dump();
        return statusCode === 200;
      }, readyDeadlineMs);
    } finally {
      await dispatcher.destroy();
    }
  }

  /** Pods are only admitted when the service account exists. */
  async #waitForDefaultServiceAccount(): Promise<void> {
    const client = this.client();
    const [controllerManager] = this.#controllers;
    try {
      const path = '/api/v1/namespaces/default/serviceaccounts/default';
      await controllerManager?.waitUntilReady(async () => (await client.find(path)) !== undefined, readyDeadlineMs);
    } finally {
      await client.close();
    }
  }

  #files(): ControlPlaneFiles {
    const { folder, authority } = this;
    const local = { dnsNames: ['localhost'], ips: ['127.0.0.1'] };
    const { publicKeyFile, privateKeyFile } = serviceAccountKeys(join(folder, 'pki'));
    const service = 'kubernetes.default.svc.cluster.local'.split('.');
    return {
      folder,
      address: this.address,
      ca: authority,
      // etcd is also a client of its peers.
      etcd: authority.issue('etcd', { commonName: 'etcd', usages: ['serverAuth', 'clientAuth'], ...local }),
      etcdClient: authority.issue('etcd-client', { commonName: 'kube-apiserver-etcd-client', usages: ['clientAuth'] }),
      apiServer: authority.issue('kube-apiserver', {
        commonName: 'kube-apiserver',
        usages: ['serverAuth'],
        dnsNames: ['localhost', ...[1, 2, 3, 5].map((parts) => service.slice(0, parts).join('.'))],
        ips: [this.address, kubernetesServiceIp],
      }),
      kubeletClient: this.clientCertificate(kubeletApiUser),
      serviceAccountPublicKey: publicKeyFile,
      serviceAccountPrivateKey: privateKeyFile,
      auditPolicy: join(folder, 'audit-policy.yaml'),
      auditLog: auditLog(folder),
      controllerManagerKubeconfig: this.userKubeconfig('system:kube-controller-manager'),
      schedulerKubeconfig: this.userKubeconfig('system:kube-scheduler'),
    };
  }
}

/** Ends every program of the folder, clients before servers, whichever process started them. */
export async function stopControlPlane(folder: string): Promise<void> {
  await Promise.all([stopProgram(folder, 'kube-controller-manager', graceMs), stopProgram(folder, 'kube-scheduler', graceMs)]);
  await stopProgram(folder, 'kube-apiserver', apiServerGraceMs);
  await stopProgram(folder, 'etcd', graceMs);
}

/** The API server's user name at kubelets, with the role bound below. */
const kubeletApiUser = 'kube-apiserver-kubelet-client';

async function allowKubeletApi(client: ApiClient): Promise<void> {
  try {
    await client.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'kube-apiserver-kubelet-api' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:kubelet-api-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: kubeletApiUser }],
    });
  } catch (err) {
    if (!(err instanceof ApiError && err.reason === 'AlreadyExists')) throw err;
  }
}

function savedPorts(folder: string): ControlPlanePorts | undefined {
  try {
    return (JSON.parse(readFileSync(stateFile(folder), 'utf8')) as SavedState).ports;
  } catch {
    return undefined;
  }
}

async function newPorts(): Promise<ControlPlanePorts> {
  const [etcdClient = 0, etcdPeer = 0, apiServer = 0, controllerManager = 0, scheduler = 0] = await reservePorts(5);
  return { etcdClient, etcdPeer, apiServer, controllerManager, scheduler };
}
