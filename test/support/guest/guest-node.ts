/**
 * A node in a guest: containerd and the bundled kubelet as systemd units, with the systemd cgroup driver on cgroup v2, on a folder of static
 * pods. Tests observe the guest, the read-only port and the journal.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Guest, type GuestNetwork } from '../../../lab/guest/guest.ts';
import { ensureContainerd, type ContainerdVersion } from '../../../lab/containerd/installations/installations.ts';
import { buildLocalImageArchives } from '../../../lab/containerd/local-images.ts';
import type { ContainerStatus, Pod } from '../../../src/shared/kubernetes/api.ts';
import { connectCable, guestAddress, layCable } from './guest-cable.ts';
import {
  containerdConfig,
  containerdUnit,
  environmentFile,
  kubeletConfig,
  kubeletUnit,
  networkConfig,
} from '../../../lab/guest/guest-node-files.ts';

export interface KubeletOptions {
  /** For periods of a minute: how many times as fast time passes for the kubelet. An idle one takes as many times the CPU. Default: 1. */
  readonly timeFactor?: number;
}

export interface GuestNodeOptions extends KubeletOptions {
  /** Default: 1.6, which Debian 12 has. */
  readonly containerd?: ContainerdVersion;
  /** Fields of KubeletConfiguration. */
  readonly config?: object;
  /** Default: 3G. */
  readonly memory?: string;
  /** Default: 1. */
  readonly cpus?: number;
  /** More folders of the host that have the same path in the guest. */
  readonly share?: readonly string[];
  /** Default: the cable to this process. */
  readonly network?: GuestNetwork;
  /** Prepares the guest before containerd and the kubelet start. Returns further flags and fields of KubeletConfiguration. */
  readonly prepare?: (guest: Guest) => Promise<{ readonly config?: object; readonly flags?: readonly string[] }>;
}

const project = join(import.meta.dirname, '../../..');
const fastTime = join(project, 'test/support/preloads/fast-time.mjs');
const manifests = '/etc/kubernetes/manifests';
const nodeName = 'guest';
/** Between two reads of a guest's state. A command there takes 20 to 50 ms of a CPU. */
const readPeriodsMs = { first: 300, later: 1000, firstForMs: 3000 };

export class GuestNode {
  readonly guest: Guest;
  /** Fields of KubeletConfiguration that `prepare` has returned. */
  #prepared: object = {};

  private constructor(guest: Guest) {
    this.guest = guest;
  }

  /** Boots, and starts containerd and the kubelet. Returns when both serve. */
  static async start({ config = {}, timeFactor = 1, prepare, ...options }: GuestNodeOptions = {}): Promise<GuestNode> {
    let prepared: Awaited<ReturnType<NonNullable<typeof prepare>>> = {};
    const node = await GuestNode.boot({ ...options, prepare: async (guest) => (prepared = (await prepare?.(guest)) ?? {}) });
    node.#prepared = prepared.config ?? {};
    try {
      await node.guest.write('/etc/systemd/system/kubelet.service', kubeletUnit(nodeName, prepared.flags));
      await node.guest.check('systemctl daemon-reload');
      await node.startKubelet(config, { timeFactor });
      return node;
    } catch (err) {
      await node.destroy();
      throw err;
    }
  }

  /** Boots, and starts containerd with the local images. There is no kubelet yet. */
  static async boot({
    containerd = '1.6',
    memory = '3G',
    cpus = 1,
    share = [],
    network,
    prepare,
  }: Omit<GuestNodeOptions, 'config' | 'timeFactor'> = {}): Promise<GuestNode> {
    const images = buildLocalImageArchives();
    const installation = ensureContainerd(containerd);
    const shared = [project, ...share, ...(installation ? [installation] : [])];
    const guest = await Guest.boot({ memory, cpus, share: shared, network: network ?? layCable() });
    const node = new GuestNode(guest);
    try {
      if (network === undefined) await connectCable(guest);
      await guest.write('/etc/containerd/config.toml', containerdConfig);
      await guest.write('/etc/systemd/system/containerd.service.d/10-test.conf', containerdUnit(installation));
      await guest.write('/etc/cni/net.d/10-bridge.conflist', networkConfig());
      await prepare?.(guest);
      await guest.check(`mkdir -p ${manifests} && systemctl daemon-reload && systemctl start containerd`);
      for (const { archive, name } of images) await guest.check(`ctr -n k8s.io images import --base-name ${name} ${archive}`);
      return node;
    } catch (err) {
      await guest.shutdown();
      throw err;
    }
  }

  async startKubelet(config: object = {}, { timeFactor = 1 }: KubeletOptions = {}): Promise<void> {
    await this.guest.write(
      '/etc/kubernetes/kubelet.json',
      JSON.stringify({ ...kubeletConfig, staticPodPath: manifests, ...this.#prepared, ...config }),
    );
    const environment = timeFactor === 1 ? '' : `NODE_OPTIONS=--import=${fastTime}\nTIME_FACTOR=${timeFactor}\n`;
    await this.guest.write(environmentFile, environment);
    await this.guest.check('systemctl restart kubelet');
    await this.untilHealthy();
  }

  /** Waits until the kubelet serves its pods. */
  async untilHealthy(): Promise<void> {
    await this.#until('the kubelet serves', async () => ((await this.pods()) === undefined ? undefined : true), 60_000);
  }

  async apply(manifest: object): Promise<void> {
    const { name } = (manifest as Pod).metadata;
    // Renamed into the folder, because a manifest must not be read half written.
    await this.guest.write(`/etc/kubernetes/${name}.json`, JSON.stringify(manifest));
    await this.guest.check(`mv /etc/kubernetes/${name}.json ${manifests}/`);
  }

  async delete(name: string): Promise<void> {
    await this.guest.check(`rm ${manifests}/${name}.json`);
  }

  /** Waits until the pod, static or from an API server, fulfils the condition. */
  async until(name: string, what: string, condition: (pod: Pod) => boolean, timeoutMs = 60_000): Promise<Pod> {
    let last: Pod | undefined;
    const find = async () => {
      last = (await this.pods())?.find(({ metadata }) => metadata.name === name || metadata.name === `${name}-${nodeName}`);
      return last !== undefined && condition(last) ? last : undefined;
    };
    return this.#until(`pod ${name} ${what}`, find, timeoutMs, () => JSON.stringify(last?.status));
  }

  untilRunning(name: string): Promise<Pod> {
    return this.until(
      name,
      'runs',
      ({ status }) => status?.phase === 'Running' && status.containerStatuses?.every(({ ready }) => ready) === true,
    );
  }

  async untilGone(name: string): Promise<void> {
    const isGone = async () =>
      (await this.pods())?.some(({ metadata }) => metadata.name === `${name}-${nodeName}`) === false ? true : undefined;
    await this.#until(`pod ${name} is gone`, isGone, 60_000);
  }

  /** Waits until a command in the guest prints the expected text. */
  async untilPrints(command: string, expected: string, timeoutMs = 30_000): Promise<void> {
    let last = '';
    const prints = async () => {
      ({ stdout: last } = await this.guest.run(command));
      return last.trimEnd() === expected ? true : undefined;
    };
    await this.#until(`${command} prints ${JSON.stringify(expected)}`, prints, timeoutMs, () => JSON.stringify(last));
  }

  /** Waits until the page of metrics has a line that matches. */
  async untilMetric(pattern: RegExp, timeoutMs = 30_000, path = '/metrics'): Promise<void> {
    const matches = async () => (pattern.test(await this.get(path).catch(() => '')) ? true : undefined);
    await this.#until(`${path} has ${String(pattern)}`, matches, timeoutMs);
  }

  destroy(): Promise<void> {
    return this.guest.shutdown();
  }

  /** Returns undefined while the kubelet does not serve. */
  async pods(): Promise<readonly Pod[] | undefined> {
    const text = await this.get('/pods').catch(() => undefined);
    return text === undefined ? undefined : ((JSON.parse(text) as { items?: Pod[] | null }).items ?? []);
  }

  /** Returns what the kubelet's read-only port has at this path. Starts no process in the guest. */
  async get(path: string): Promise<string> {
    const answer = await fetch(`http://${guestAddress}:10255${path}`, { signal: AbortSignal.timeout(20_000) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${text}`);
    return text;
  }

  async #until<T>(what: string, read: () => Promise<T | undefined>, timeoutMs: number, describe = () => ''): Promise<T> {
    const startedMs = performance.now();
    for (let waitedMs = 0; waitedMs <= timeoutMs; waitedMs = performance.now() - startedMs) {
      const value = await read();
      if (value !== undefined) return value;
      await sleep(waitedMs < readPeriodsMs.firstForMs ? readPeriodsMs.first : readPeriodsMs.later);
    }
    const { stdout: journal } = await this.guest.run('journalctl -q --no-pager -o cat -n 25 -u kubelet -u containerd -p 7');
    throw new Error(`${what}: not within ${timeoutMs} ms; it is ${describe()}; the end of the journal:\n${journal}`);
  }
}

export function statusOf(pod: Pod, name = 'app'): ContainerStatus | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  return [...initContainerStatuses, ...containerStatuses].find((status) => status.name === name);
}
