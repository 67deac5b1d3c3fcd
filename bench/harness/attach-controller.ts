/**
 * Does what the attach-detach controller and external-attacher do, when a benchmark asks for it: the control plane of benchmarks has no controllers, and its times
 * would count. A watch of the Node says when users see each step.
 */
import { attachmentName, uniqueVolumeName } from '../../src/shared/kubernetes/attachment-names.ts';
import { TestAttacher } from '../../test/support/csi-driver/attacher.ts';
import { ApiWatch } from './api-watch.ts';
import { nodeName, nodePath, type BenchCluster } from './cluster.ts';
import { driverNames } from './csi-drivers.ts';

interface Node {
  readonly metadata: { readonly resourceVersion?: string };
  readonly status?: { readonly volumesInUse?: readonly string[]; readonly volumesAttached?: readonly { readonly name: string }[] };
}

const driver = driverNames.attaching;
/** The Go kubelet writes its status each 10 s. */
const timeoutMs = 60_000;

export class AttachController {
  readonly #cluster: BenchCluster;
  readonly #attacher: TestAttacher;
  /** By the volume's unique name: since when the Node lists it, monotonic ms. */
  readonly #inUse = new Map<string, number>();
  readonly #attached = new Map<string, number>();
  #watch: ApiWatch<Node> | undefined;

  private constructor(cluster: BenchCluster) {
    this.#cluster = cluster;
    this.#attacher = new TestAttacher(cluster.api, driver, nodeName);
  }

  static async start(cluster: BenchCluster): Promise<AttachController> {
    const controller = new AttachController(cluster);
    const path = `/api/v1/nodes?fieldSelector=metadata.name%3D${nodeName}`;
    controller.#watch = await ApiWatch.start<Node>(cluster.api, path, ({ object: { status } }, atMs) => {
      updateTimes(controller.#inUse, status?.volumesInUse ?? [], atMs);
      updateTimes(controller.#attached, status?.volumesAttached?.map(({ name }) => name) ?? [], atMs);
    });
    return controller;
  }

  /** Resolves with the moment at which the watch saw that the node uses the volume. */
  untilInUse(volume: string): Promise<number> {
    return this.#until('in use', this.#inUse, volume);
  }

  /** Attaches the volume, as the only one. Resolves with the moment at which the watch saw it in the Node. */
  async attach(volume: string): Promise<number> {
    await this.#cluster.api.create('/apis/storage.k8s.io/v1/volumeattachments', {
      metadata: { name: attachmentName(volume, driver, nodeName) },
      spec: { attacher: driver, nodeName, source: { persistentVolumeName: volume } },
    });
    await this.#attacher.setStatus(volume, { attached: true });
    await this.#setAttached([{ name: uniqueVolumeName(driver, volume), devicePath: '' }]);
    return this.#until('attached', this.#attached, volume);
  }

  async detach(volume: string): Promise<void> {
    await this.#setAttached([]);
    await this.#cluster.api.delete(this.#attacher.path(volume));
  }

  async close(): Promise<void> {
    await this.#watch?.close();
  }

  async #setAttached(volumesAttached: readonly object[]): Promise<void> {
    await this.#cluster.api.patch(`${nodePath}/status`, { status: { volumesAttached } }, 'strategic-merge');
  }

  async #until(what: string, times: ReadonlyMap<string, number>, volume: string): Promise<number> {
    const name = uniqueVolumeName(driver, volume);
    await this.#watch!.waitUntil(`${volume} is ${what}`, timeoutMs, () => times.has(name));
    return times.get(name)!;
  }
}

function updateTimes(times: Map<string, number>, names: readonly string[], atMs: number): void {
  for (const name of times.keys()) if (!names.includes(name)) times.delete(name);
  for (const name of names) if (!times.has(name)) times.set(name, atMs);
}
