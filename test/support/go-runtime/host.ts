/**
 * Hosts whose network a test makes: the test's thread moves into a new network namespace, so that its own servers and requests are those of the host, and
 * starts the kubelet there, on the simulated runtime.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type koffi from 'koffi';
import { stringify } from 'yaml';
import { reservePorts } from '../../../lab/host/reserve-ports.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { RunningKubelet } from '../kubelet/kubelet-command.ts';
import { canConnect } from '../kubelet/can-connect.ts';
import { kubeletEnvironment } from '../kubelet/kubelet-environment.ts';
import { prepareKubelet, type PreparedKubelet } from '../kubelet/prepared-kubelet.ts';
import { waitUntil, type TestHooks } from '../runtime/simulated-runtime.ts';
import { kubeletUnderTest } from './program.ts';

export const nodeName = 'contract-node';
/** Long, because other tests use the same cores. */
const timeoutMs = 120_000;
/** CLONE_NEWNET of linux/sched.h. */
const newNetworkNamespace = 0x40000000;

/**
 * Moves the calling thread into a new network namespace, with the sockets that it opens and the children that it starts from now on. File threads stay:
 * names are not looked up there.
 * @param commands for a shell; loopback is up
 */
export function enterNetwork(commands = ''): void {
  const native = createRequire(import.meta.url)('koffi') as typeof koffi;
  const unshare = native.load(null).func('int unshare(int flags)') as unknown as (flags: number) => number;
  if (unshare(newNetworkNamespace) !== 0) throw new Error(`unshare failed: errno ${native.errno()}`);
  execFileSync('sh', ['-e'], { input: `ip link set lo up\n${commands}`, stdio: ['pipe', 'ignore', 'pipe'] });
}

/** Commands that make `eth0`, whose cable leads nowhere. */
export const eth0 = 'ip link add eth0 type veth peer name uplink; ip link set uplink up; ip link set eth0 up';

/** The cluster of a kubeconfig. */
export interface KubeconfigCluster {
  readonly server: string;
  /** PEM. */
  readonly authority: string;
  readonly 'tls-server-name'?: string;
  /** The context names a user that the file does not have. */
  readonly withoutUser?: boolean;
}

export interface HostOptions {
  readonly config?: Readonly<Record<string, unknown>>;
  /** Further fields of the configuration file, as YAML. */
  readonly configText?: string;
  readonly flags?: readonly string[];
  /** Default: the host is standalone. */
  readonly kubeconfig?: KubeconfigCluster;
  readonly env?: Readonly<Record<string, string>>;
  /** A command of a shell that the kubelet replaces: `ulimit -n 256`. It has a mount namespace of its own, with an empty /var/log. */
  readonly setUp?: string;
}

export interface ContractHost extends PreparedKubelet {
  readonly kubelet: RunningKubelet;
  readonly securePort: number;
  readonly readOnlyPort: number;
}

/** Starts the kubelet, and waits until it is healthy and its read-only port is open. */
export async function startHost(t: TestHooks, options: HostOptions = {}): Promise<ContractHost> {
  const { config = {}, configText = '', flags = [], kubeconfig, env = {}, setUp = 'true' } = options;
  const [securePort = 0, readOnlyPort = 0] = await reservePorts(2);
  const prepared = await prepareKubelet(t, {
    port: securePort,
    readOnlyPort,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    contentType: 'application/json',
    httpCheckFrequency: '500ms',
    fileCheckFrequency: '1s',
    ...config,
  });
  appendFileSync(prepared.configFile, configText);
  const joining = kubeconfig ? ['--kubeconfig', writeKubeconfig(prepared.folder, kubeconfig)] : [];
  // The Go kubelet empties a folder there.
  const hide = (folder: string) => `mkdir -p ${folder} && mount -t tmpfs tmpfs ${folder}`;
  const script = `${hide('/var/log')} && ${hide('/var/lib/kubelet')} && ${setUp} && exec "$@"`;
  const program = [await kubeletUnderTest(), ...prepared.args, '--hostname-override', nodeName, ...joining, ...flags];
  const kubelet = new RunningKubelet(['--mount', 'sh', '-c', script, 'sh', ...program], {
    command: 'unshare',
    env: kubeletEnvironment(env),
  });
  const ended = kubelet.ended.then(({ code }) => Promise.reject(new Error(`the kubelet ended with ${code}`)));
  const open = Promise.all(
    [prepared.healthzPort, securePort, readOnlyPort].map((port) => waitUntil(`port ${port} is open`, () => canConnect(port), timeoutMs)),
  );
  await Promise.race([open, ended]).catch((err: unknown) => {
    throw new Error(`${String(err)}\n${kubelet.stderr.slice(-3000)}`, { cause: err });
  });
  // The test may end it.
  ended.catch(() => {});
  return { ...prepared, securePort, readOnlyPort, kubelet };
}

/** Returns the path. A user has a token. */
function writeKubeconfig(folder: string, { authority, withoutUser = false, ...cluster }: KubeconfigCluster): string {
  const file = join(folder, 'kubeconfig');
  const all = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { ...cluster, 'certificate-authority-data': Buffer.from(authority).toString('base64') } }],
    users: withoutUser ? [] : [{ name: 'u', user: { token: 'secret' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(file, stringify(all), { mode: 0o600 });
  return file;
}

export async function podOf({ readOnlyPort }: ContractHost, name: string): Promise<Pod | undefined> {
  const { items } = (await (await fetch(`http://127.0.0.1:${readOnlyPort}/pods`)).json()) as { items: Pod[] | null };
  return items?.find(({ metadata }) => metadata.name === `${name}-${nodeName}`);
}

/** Not so when it is a zombie. */
export const isRunning = ({ pid }: RunningKubelet) => existsSync(`/proc/${pid}/exe`);

/** Returns the last value, also when the condition is not met in time: the outcome then shows the difference. */
export async function lastOf<T>(
  read: () => Promise<T | undefined> | T | undefined,
  isDone: (value: T) => boolean,
  waitMs = timeoutMs,
): Promise<T | undefined> {
  let last: T | undefined;
  const poll = async () => {
    last = (await Promise.resolve(read()).catch(() => undefined)) ?? last;
    return last !== undefined && isDone(last);
  };
  await waitUntil('the condition is met', poll, waitMs).catch(() => {});
  return last;
}

export const isReady = ({ status }: Pod) => status?.containerStatuses?.every(({ ready }) => ready) ?? false;

/** A manifest in YAML. */
export const aPod = (name: string) => `apiVersion: v1
kind: Pod
metadata:
  name: ${name}
spec:
  containers: [{name: app, image: "sim/run:1"}]
`;

/** A hostNetwork pod whose HTTP probe has no host. */
export function aProbedPod(port: number): object {
  const readinessProbe = { httpGet: { port }, periodSeconds: 1 };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web' },
    spec: { hostNetwork: true, containers: [{ name: 'app', image: 'sim/run:1', readinessProbe }] },
  };
}
