/** CSI drivers for a benchmark's node: the tests' driver, which really mounts, with its calls on the clock of the benchmarks. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeFolder } from '../../lab/host/remove-folder.ts';
import { createBoundClaim } from '../../test/support/csi-driver/claims.ts';
import { TestCsiDriver } from '../../test/support/csi-driver/test-csi-driver.ts';
import { waitUntil } from '../../test/support/runtime/simulated-runtime.ts';
import { forEachConcurrently } from '../driver/for-each-concurrently.ts';
import type { BenchContext } from './benchmark.ts';
import { namespace, nodeName, type BenchCluster } from './cluster.ts';
import { benchPodSpec } from './containerd.ts';
import { epochToMonotonicMs } from './timestamps.ts';
import type { DriverCall } from './volume-pod-times.ts';

/** `attaching`: its volumes are attached before they are staged. */
export const driverNames = { plain: 'plain.csi.bench', attaching: 'attaching.csi.bench' } as const;

/** Only ask how a volume is. */
const observations: ReadonlySet<string> = new Set(['NodeGetVolumeStats', 'NodeGetVolumeHealth', 'NodeGetStorageHealth']);
/** More at once make the API server no faster. */
const lanes = 8;

export class BenchCsiDriver extends TestCsiDriver {
  /** @param rootFolder of the kubelet. The driver ends with the benchmark, its files are removed. */
  constructor({ onEnd }: BenchContext, rootFolder: string, name: string) {
    const stateDir = mkdtempSync(join(tmpdir(), 'bench-csi-'));
    super({
      name,
      nodeID: nodeName,
      socket: join(rootFolder, 'plugins', name, 'csi.sock'),
      registrationSocket: join(rootFolder, 'plugins_registry', `${name}-reg.sock`),
      stateDir,
      capabilities: ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS'],
    });
    onEnd(async () => {
      await this.stop();
      removeFolder(stateDir);
    });
  }

  /** Returns the calls since the given monotonic ms, without those that only observe volumes. */
  calls(sinceMs = -Infinity): DriverCall[] {
    const toMonotonicMs = epochToMonotonicMs();
    return this.journal()
      .filter(({ method }) => !observations.has(method))
      .map(({ startMs, endMs, ...call }) => ({ ...call, startMs: startMs + toMonotonicMs, endMs: endMs + toMonotonicMs }))
      .filter(({ startMs }) => startMs >= sinceMs);
  }

  /** Waits until the driver has unstaged this many volumes. Resolves with the end of its last NodeUnstageVolume. */
  async untilUnstaged(volumes: number, timeoutMs: number, sinceMs = -Infinity): Promise<number> {
    const ends = () =>
      this.calls(sinceMs).flatMap(({ method, endMs, code }) => (method === 'NodeUnstageVolume' && code === 0 ? [endMs] : []));
    return Math.max(
      ...(await waitUntil(
        `${volumes} volumes are unstaged`,
        () => {
          const all = ends();
          return all.length >= volumes ? all : undefined;
        },
        timeoutMs,
      )),
    );
  }
}

/** Creates the CSIDrivers. */
export async function createCsiDrivers({ api }: BenchCluster): Promise<void> {
  for (const name of Object.values(driverNames))
    await api.create('/apis/storage.k8s.io/v1/csidrivers', {
      metadata: { name },
      spec: { attachRequired: name === driverNames.attaching },
    });
}

/** Creates bound claims of these names. Returns the names of their volumes, in order. */
export async function createClaims({ api }: BenchCluster, driver: string, names: readonly string[]): Promise<string[]> {
  const volumes = new Map<string, string>();
  await forEachConcurrently(names, lanes, async (name) => void volumes.set(name, await createBoundClaim(api, { namespace, driver, name })));
  return names.map((name) => volumes.get(name)!);
}

/** Returns the fields of a pod's spec for the volumes of these claims. */
export function claimsSpec(claims: readonly string[]): object {
  return volumesSpec(claims.map((claimName) => ({ persistentVolumeClaim: { claimName } })));
}

export function emptyDirsSpec(count: number): object {
  return volumesSpec(Array.from({ length: count }, () => ({ emptyDir: {} })));
}

function volumesSpec(sources: readonly object[]): object {
  const nameOf = (index: number) => `data-${index}`;
  const volumeMounts = sources.map((_, index) => ({ name: nameOf(index), mountPath: `/${nameOf(index)}` }));
  return {
    containers: benchPodSpec.containers.map((container) => ({ ...container, volumeMounts })),
    volumes: sources.map((source, index) => ({ name: nameOf(index), ...source })),
  };
}
