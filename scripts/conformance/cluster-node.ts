/** A one-node cluster for the conformance tests: control plane, containerd with the images of the tests, and `bin/kubelet`. */
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { removeCgroup } from '../host/cgroups.ts';
import { ensureContainerd } from '../host/containerd/installations.ts';
import { clusterMember } from '../host/control-plane-member.ts';
import { ControlPlane } from '../host/control-plane.ts';
import { buildImageArchive } from '../host/local-images.ts';
import { removeLogLinks } from '../host/log-links.ts';
import { destroyPrivateContainerd, PrivateContainerd, registriesFolder, removeFolder } from '../host/private-containerd.ts';
import { startDaemon, stopDaemon, type Daemon } from '../up/processes.ts';
import type { ConformanceBinaries } from './binaries.ts';
import { ImageRegistry, writeRegistryTree } from './image-registry.ts';
import { testImages } from './images.ts';

const project = join(import.meta.dirname, '../..');
const nodeName = 'conformance';
const readyDeadlineMs = 60_000;

interface Node {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[] };
}

/** Has everything that the tests ask of a runtime. */
export const containerdVersion = '2.1';

export class ConformanceNode {
  readonly folder: string = mkdtempSync('/tmp/kc-');
  readonly #cgroupRoot = `/${this.folder.slice('/tmp/'.length)}`;
  readonly #podLogs = join(this.folder, 'pod-logs');
  readonly #kubelet: Daemon = { pidFile: join(this.folder, 'kubelet.pid'), commandLineMark: join(this.folder, 'kubelet.yaml') };
  #controlPlane: ControlPlane | undefined;
  #registry: ImageRegistry | undefined;

  /** The kubeconfig of cluster-admin. */
  get kubeconfig(): string {
    return this.#started().adminKubeconfig;
  }
  get kubectl(): string {
    return this.#started().kubectl;
  }
  get kubeletLog(): string {
    return join(this.folder, 'kubelet.log');
  }

  async start(binaries: ConformanceBinaries, progress: (what: string) => void): Promise<void> {
    // The root of a user namespace must reach its container's root file system.
    chmodSync(this.folder, 0o711);
    for (const path of [join(this.folder, 'manifests'), this.#podLogs]) mkdirSync(path, { mode: 0o755 });
    progress('building the images of the tests');
    this.#registry = await ImageRegistry.start(join(this.folder, 'registry'), this.#buildImages(binaries));
    progress('starting the control plane and containerd');
    const [controlPlane, endpoint] = await Promise.all([
      ControlPlane.start({ folder: join(this.folder, 'control-plane'), progress }),
      this.#startContainerd(this.#registry),
    ]);
    this.#controlPlane = controlPlane;
    progress('starting the kubelet');
    writeFileSync(this.#kubelet.commandLineMark, this.#configuration(controlPlane, endpoint));
    const member = clusterMember(controlPlane, nodeName, 10250);
    const args = ['--config', this.#kubelet.commandLineMark, '--kubeconfig', member.kubeconfig, '--root-dir', join(this.folder, 'kubelet')];
    startDaemon(this.#kubelet, join(project, 'bin/kubelet'), [...args, '--hostname-override', nodeName, '-v=4'], this.kubeletLog);
    await this.#untilReady(controlPlane);
  }

  async destroy(): Promise<void> {
    await stopDaemon(this.#kubelet);
    await Promise.all([this.#controlPlane?.stop(), destroyPrivateContainerd(join(this.folder, 'containerd'))]);
    this.#registry?.close();
    for (let attempt = 0; attempt < 100 && !removeCgroup(this.#cgroupRoot); attempt += 1) await sleep(50);
    removeLogLinks(this.#podLogs);
    removeFolder(this.folder);
  }

  #started(): ControlPlane {
    if (this.#controlPlane === undefined) throw new Error('the control plane was not started');
    return this.#controlPlane;
  }

  /** Returns the archive of each reference. */
  #buildImages(binaries: ConformanceBinaries): Map<string, string> {
    // Images of an earlier version of the list are not used again.
    const version = createHash('sha256')
      .update(readFileSync(join(import.meta.dirname, 'images.ts')))
      .digest('hex');
    const cache = join(binaries.agnhost, '..', `images-${version.slice(0, 12)}`);
    const pauseTree = (folder: string) => {
      const work = join(this.folder, 'pause');
      const [pause] = testImages(binaries, () => {});
      if (pause === undefined) throw new Error('the tests have no images');
      writeRegistryTree(buildImageArchive(cache, pause), work, join(folder, 'pause'), 'testing');
      rmSync(work, { recursive: true });
    };
    const archives = new Map<string, string>();
    for (const image of testImages(binaries, pauseTree)) {
      const archive = buildImageArchive(cache, image);
      for (const reference of image.references) archives.set(reference, archive);
    }
    return archives;
  }

  /** Returns the endpoint. */
  async #startContainerd(registry: ImageRegistry): Promise<string> {
    const folder = join(this.folder, 'containerd');
    const mirror = join(registriesFolder(folder), 'registry.k8s.io');
    mkdirSync(mirror, { recursive: true });
    writeFileSync(join(mirror, 'hosts.toml'), `[host."${registry.url}"]\n  capabilities = ["pull", "resolve"]\n`);
    const installation = ensureContainerd(containerdVersion);
    const imageCache = join(project, '.cache/images');
    const { endpoint } = await PrivateContainerd.start({ folder, network: '10.97', installation, imageCache, detached: true });
    return endpoint;
  }

  #configuration(controlPlane: ControlPlane, endpoint: string): string {
    return stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      ...clusterMember(controlPlane, nodeName, 10250).configuration,
      containerRuntimeEndpoint: endpoint,
      staticPodPath: join(this.folder, 'manifests'),
      podLogsDir: this.#podLogs,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: this.#cgroupRoot,
      failCgroupV1: false,
      // The chains would stay in the host's packet filter.
      makeIPTablesUtilChains: false,
      failSwapOn: false,
      // A full disk of the host must not remove images between tests.
      imageGCHighThresholdPercent: 100,
    });
  }

  async #untilReady(controlPlane: ControlPlane): Promise<void> {
    const api = controlPlane.client();
    const endMs = performance.now() + readyDeadlineMs;
    try {
      for (;;) {
        const node = await api.find<Node>(`/api/v1/nodes/${nodeName}`);
        const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
        if (ready?.status === 'True') return;
        if (performance.now() > endMs)
          throw new Error(`the node is not Ready (${ready?.message}); the kubelet's log is ${this.kubeletLog}`);
        await sleep(200);
      }
    } finally {
      await api.close();
    }
  }
}
