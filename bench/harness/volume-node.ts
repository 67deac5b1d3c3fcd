/** A node that is full of pods with volumes. */
import type { BenchContext } from './benchmark.ts';
import { nodeName, type BenchCluster } from './cluster.ts';
import { claimsSpec, emptyDirsSpec } from './csi-drivers.ts';
import { forEachConcurrently } from '../driver/for-each-concurrently.ts';

const timeoutMs = 600_000;
/** The API server answers each within a few milliseconds; the runtime has the rest of the host. */
const lanes = 16;

export interface FullNode {
  /** Deletes the pods, and waits until they are gone. */
  readonly empty: () => Promise<void>;
}

/**
 * Creates a pod for each item, and waits until all are ready.
 * @param volumes the claims of each pod, or the number of its emptyDirs
 */
export async function fillNode(
  { progress }: BenchContext,
  cluster: BenchCluster,
  prefix: string,
  volumes: readonly (readonly string[] | number)[],
): Promise<FullNode> {
  progress(`${prefix}: starting ${volumes.length} pods …`);
  const names = volumes.map((_, index) => `${prefix}-${index}`);
  await forEachConcurrently(volumes.entries(), lanes, async ([index, one]) => {
    await cluster.createPod(names[index]!, nodeName, typeof one === 'number' ? emptyDirsSpec(one) : claimsSpec(one));
  });
  await cluster.pods.waitUntil('ready', names, timeoutMs);
  return {
    empty: async () => {
      progress(`${prefix}: deleting the pods …`);
      await forEachConcurrently(names, lanes, (name) => cluster.deletePod(name));
      await cluster.pods.waitUntil('gone', names, timeoutMs);
    },
  };
}
