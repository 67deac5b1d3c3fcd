/** The threads of a modelled kubelet, as main calls them. The real pleg, the real tasks of the sync pool and the real selection of garbage run in this thread. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { Listeners } from '../../../src/shared/concurrency/listeners.ts';
import type { ContainerGcRequest, EnsureImageRequest } from '../../../src/shared/contracts/images.ts';
import type { PlegNotification } from '../../../src/shared/contracts/pleg.ts';
import type { PodCgroupsAppeared } from '../../../src/shared/contracts/stats.ts';
import type { ContainerID } from '../../../src/shared/kubernetes/ids.ts';
import { createRuntimeSnapshot, RuntimeSnapshotReader, RuntimeSnapshotWriter } from '../../../src/shared/state/runtime-snapshot.ts';
import type { PlegRuntime } from '../../../src/workers/pleg/pleg-runtime.ts';
import { Pleg } from '../../../src/workers/pleg/pleg.ts';
import type { Life, MortalClock } from './model-clock.ts';
import { collectGarbage, removeDead, taskDependencies, type ModelHost } from './model-host.ts';
import { modelLogger as logger } from './model-log.ts';
import { ModelPool } from './model-pool.ts';

const noStream: PlegRuntime['events'] = async function* () {};
const unavailable = async () => ({ outcome: 'failed', message: 'the model has no such thread' }) as const;

export class ModelThreads {
  readonly host: Pick<ModelHost, 'cgroupVersion'>;
  readonly pool: ModelPool;
  readonly pleg: Pick<Pleg, 'inspectPod'>;
  readonly images: ReturnType<typeof imagesThread>;
  /** No cgroup appears by itself. */
  readonly stats = { listeners: { podCgroups: new Listeners<[PodCgroupsAppeared]>() } };
  readonly volumes = {
    publishVolume: unavailable,
    publishLocalVolume: unavailable,
    checkHostPath: unavailable,
    unpublishVolume: unavailable,
  };
  readonly #pleg: Pleg;

  /** `onPlegNotification` is called as long as the kubelet lives. */
  constructor(host: ModelHost, life: Life, clock: MortalClock, onPlegNotification: (notification: PlegNotification) => void) {
    this.host = host;
    const snapshotBuffer = createRuntimeSnapshot(50);
    this.#pleg = new Pleg({
      runtime: host.calls.forPleg(life, host.events ?? noStream),
      snapshot: new RuntimeSnapshotWriter(snapshotBuffer),
      post: (message) => setImmediate(() => life.isAlive && onPlegNotification(structuredClone(message))),
      relistPeriodMs: 1000,
      useEventStream: host.events !== null,
      onListing: () => {},
      onListed: () => {},
      onRelisted: () => {},
      readMessage: async () => '',
      clock,
      logger,
    });
    this.pleg = { inspectPod: (...args) => this.#inspectPod(...args) };
    this.pool = new ModelPool({ kubelet: life, clock, dependencies: (thread) => taskDependencies(host, life, thread) });
    this.images = imagesThread(host, life, new RuntimeSnapshotReader(snapshotBuffer));
  }

  /** The answer crosses to main after the notifications that were posted before it. */
  async #inspectPod(...args: Parameters<Pleg['inspectPod']>): Promise<void> {
    try {
      await this.#pleg.inspectPod(...structuredClone(args));
    } finally {
      await nextIteration();
    }
  }

  end(): void {
    void this.#pleg.close().catch(() => {});
  }
}

/** Every image is there, and none is removed. */
function imagesThread(host: ModelHost, life: Life, snapshot: RuntimeSnapshotReader) {
  return {
    ensureImage: async ({ image }: Pick<EnsureImageRequest, 'image'>) => ({ outcome: 'present', imageRef: `sha256:${image}` }) as const,
    collectImages: async () => ({ removedImages: 0, freedBytes: 0, failure: null }),
    collectContainers: (request: ContainerGcRequest) => life.guard(collectGarbage(host, snapshot, request)),
    removeContainers: async (ids: readonly ContainerID[]) => {
      for (const id of ids) removeDead(host, id);
    },
  };
}
