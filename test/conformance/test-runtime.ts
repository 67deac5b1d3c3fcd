/** A private containerd that pulls the images of the tests from a registry on loopback. */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ensureContainerd } from '../../lab/containerd/installations/installations.ts';
import { buildImageArchive } from '../../lab/containerd/local-images.ts';
import { registriesFolder } from '../../lab/containerd/containerd-config.ts';
import { destroyPrivateContainerd, PrivateContainerd } from '../../lab/containerd/private-containerd.ts';
import type { ConformanceBinaries } from './binaries.ts';
import { ImageRegistry, writeRegistryTree } from './image-registry.ts';
import { testImages } from './images.ts';

/** Has everything that the tests ask of a runtime. */
export const containerdVersion = '2.1';

export class TestRuntime {
  readonly endpoint: string;
  readonly pidFile: string;
  readonly #folder: string;
  readonly #registry: ImageRegistry;

  private constructor(folder: string, endpoint: string, registry: ImageRegistry) {
    this.endpoint = endpoint;
    this.pidFile = join(folder, 'containerd.pid');
    this.#folder = folder;
    this.#registry = registry;
  }

  /** @param parent of the folders of containerd and of the registry */
  static async start(parent: string, binaries: ConformanceBinaries): Promise<TestRuntime> {
    const registry = await ImageRegistry.start(join(parent, 'registry'), buildTestImages(parent, binaries));
    const folder = join(parent, 'containerd');
    const mirror = join(registriesFolder(folder), 'registry.k8s.io');
    mkdirSync(mirror, { recursive: true });
    writeFileSync(join(mirror, 'hosts.toml'), `[host."${registry.url}"]\n  capabilities = ["pull", "resolve"]\n`);
    const installation = ensureContainerd(containerdVersion);
    const { endpoint } = await PrivateContainerd.start({ folder, network: '10.97', installation, detached: true });
    return new TestRuntime(folder, endpoint, registry);
  }

  async destroy(): Promise<void> {
    await destroyPrivateContainerd(this.#folder);
    this.#registry.close();
  }
}

/** Returns the archive of each reference. @param parent of a work folder */
export function buildTestImages(parent: string, binaries: ConformanceBinaries): Map<string, string> {
  // Images of an earlier version of the list are not used again. A module that moves changes no image.
  const list = readFileSync(join(import.meta.dirname, 'images.ts'), 'utf8').replaceAll(/^import .*$/gm, '');
  const version = createHash('sha256').update(list).digest('hex');
  const cache = join(dirname(binaries.agnhost), `images-${version.slice(0, 12)}`);
  const pauseTree = (folder: string) => {
    const work = join(parent, 'pause');
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
