/**
 * A node in a guest: containerd and the bundled kubelet as systemd units, with the systemd cgroup driver on cgroup v2, on a folder of static
 * pods. Tests observe the guest, the read-only port and the journal.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Guest, type GuestNetwork } from '../../../scripts/host/guest/guest.ts';
import { ensureContainerd, type ContainerdVersion } from '../../../scripts/host/containerd/installations.ts';
import { buildLocalImageArchives } from '../../../scripts/host/local-images.ts';
import type { ContainerStatus, Pod } from '../../../src/shared/kubernetes/api.ts';
import { containerdConfig, containerdUnit, kubeletConfig, kubeletUnit, networkConfig } from './guest-node-files.ts';

export interface GuestNodeOptions {
  /** Default: 1.6, which Debian 12 has. */
  readonly containerd?: ContainerdVersion;
  /** Fields of KubeletConfiguration. */
  readonly config?: object;
  /** Default: 3G. */
  readonly memory?: string;
  /** More folders of the host that have the same path in the guest. */
  readonly share?: readonly string[];
  /** Default: no network outside the guest. */
  readonly network?: GuestNetwork;
  /** Prepares the guest before containerd and the kubelet start. Returns further flags and fields of KubeletConfiguration. */
  readonly prepare?: (guest: Guest) => Promise<{ readonly config?: object; readonly flags?: readonly string[] }>;
}

const project = join(import.meta.dirname, '../../..');
const manifests = '/etc/kubernetes/manifests';
const nodeName = 'guest';
/** Between two reads of the guest's pods. A command there takes a tenth of it. */
const readPeriodMs = 300;
// Debian's static busybox cannot open connections there, and the guest has no curl.
const readPods = `bash -c 'exec 3<>/dev/tcp/127.0.0.1/10255 && printf "GET /pods HTTP/1.0\\r\\n\\r\\n" >&3 && cat <&3'`;

export class GuestNode {
  readonly guest: Guest;
  /** Fields of KubeletConfiguration that `prepare` has returned. */
  #prepared: object = {};

  private constructor(guest: Guest) {
    this.guest = guest;
  }

  /** Boots, and starts containerd and the kubelet. Returns when both serve. */
  static async start({ config = {}, prepare, ...options }: GuestNodeOptions = {}): Promise<GuestNode> {
    let prepared: Awaited<ReturnType<NonNullable<typeof prepare>>> = {};
    const node = await GuestNode.boot({ ...options, prepare: async (guest) => (prepared = (await prepare?.(guest)) ?? {}) });
    node.#prepared = prepared.config ?? {};
    try {
      await node.guest.write('/etc/systemd/system/kubelet.service', kubeletUnit(project, nodeName, prepared.flags));
      await node.guest.check('systemctl daemon-reload');
      await node.startKubelet(config);
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
    share = [],
    network,
    prepare,
  }: Omit<GuestNodeOptions, 'config'> = {}): Promise<GuestNode> {
    const images = buildLocalImageArchives(join(project, '.cache/images'));
    const installation = ensureContainerd(containerd);
    const shared = [project, ...share, ...(installation ? [installation] : [])];
    const guest = await Guest.boot({ memory, share: shared, ...(network && { network }) });
    const node = new GuestNode(guest);
    try {
      await guest.write('/etc/containerd/config.toml', containerdConfig);
      await guest.write('/etc/systemd/system/containerd.service.d/10-test.conf', containerdUnit(installation));
      await guest.write('/etc/cni/net.d/10-bridge.conflist', networkConfig);
      await prepare?.(guest);
      await guest.check(`mkdir -p ${manifests} && systemctl daemon-reload && systemctl start containerd`);
      for (const { archive, name } of images) await guest.check(`ctr -n k8s.io images import --base-name ${name} ${archive}`);
      return node;
    } catch (err) {
      await guest.shutdown();
      throw err;
    }
  }

  async startKubelet(config: object = {}): Promise<void> {
    await this.guest.write(
      '/etc/kubernetes/kubelet.json',
      JSON.stringify({ ...kubeletConfig, staticPodPath: manifests, ...this.#prepared, ...config }),
    );
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

  destroy(): Promise<void> {
    return this.guest.shutdown();
  }

  /** Returns undefined while the kubelet does not serve. */
  async pods(): Promise<readonly Pod[] | undefined> {
    const { code, stdout } = await this.guest.run(readPods, { timeoutMs: 20_000 });
    if (code !== 0) return undefined;
    return (JSON.parse(stdout.slice(stdout.indexOf('\r\n\r\n'))) as { items?: Pod[] | null }).items ?? [];
  }

  async #until<T>(what: string, read: () => Promise<T | undefined>, timeoutMs: number, describe = () => ''): Promise<T> {
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const value = await read();
      if (value !== undefined) return value;
      if (performance.now() > deadlineMs) break;
      await sleep(readPeriodMs);
    }
    const { stdout: journal } = await this.guest.run('journalctl -q --no-pager -o cat -n 25 -u kubelet -u containerd -p 7');
    throw new Error(`${what}: not within ${timeoutMs} ms; it is ${describe()}; the end of the journal:\n${journal}`);
  }
}

export function statusOf(pod: Pod, name = 'app'): ContainerStatus | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  return [...initContainerStatuses, ...containerStatuses].find((status) => status.name === name);
}
