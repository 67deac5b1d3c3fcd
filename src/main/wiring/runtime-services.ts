/**
 * The threads that look, wired: at the runtime's pods (pleg), at its images, at probes; and whether the runtime is well. What they see goes
 * into the pod cache and on to those who act, who come later: until they are connected nobody is told.
 */
import type { InspectionRequest, PlegNotification, PodLifecycleEvent } from '../../shared/contracts/pleg.ts';
import { contain } from '../../shared/errors/contain.ts';
import type { CreatedObjects } from '../../shared/contracts/pod-sync/result.ts';
import type { ProbeResult } from '../../shared/contracts/probes.ts';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { setRuntimeCgroupDriver } from '../../shared/state/runtime-cgroup-driver.ts';
import { systemClock as clock } from '../../shared/time/clock.ts';
import type { KubeletContext } from './kubelet-context.ts';
import { RuntimeState } from '../node/status/runtime-state.ts';
import type { EventSink } from '../events/index.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import { untilAborted } from '../../shared/concurrency/until-aborted.ts';
import { imagesSettings } from './thread-settings.ts';
import { ImagesThread } from '../threads/images-thread.ts';
import type { PlegThread } from '../threads/pleg-thread.ts';
import { ProbesThread } from '../threads/probes-thread.ts';

export interface ObserversOptions extends KubeletContext {
  readonly events: EventSink;
  /** What is seen of pods; nobody else writes it but finished looks. */
  readonly cache: RuntimeStatusCache;
}

/** What is told, and to whom. */
export interface ObserverListeners {
  readonly onStatuses: (changed: readonly PodUID[]) => void;
  readonly onLifecycleEvents: (events: readonly PodLifecycleEvent[], inspection?: InspectionRequest) => void;
  readonly onProbeResults: (results: readonly ProbeResult[]) => void;
  /** The runtime is well again. */
  readonly onRuntimeRecovered: () => void;
  /** How the runtime is, and what it can do. */
  readonly onRuntimeChanged: () => void;
}

export class Observers {
  readonly runtimeState: RuntimeState;
  readonly images: ImagesThread;
  readonly #options: ObserversOptions;
  readonly #pleg: PlegThread;
  readonly #firstList = Promise.withResolvers<void>();
  #told: Partial<ObserverListeners> = {};

  /** The other threads load while the runtime is asked: none of these needs to know it. */
  static start(options: ObserversOptions): Observers {
    return new Observers(options);
  }

  private constructor(options: ObserversOptions) {
    const { options: kubelet, threads: first, log, shutdown, events } = options;
    const { state, snapshot, pleg } = first;
    this.#options = options;
    this.#pleg = pleg;
    first.listen((message) => this.#onMessage(message));
    this.images = ImagesThread.start({
      state,
      logger: log('images'),
      settings: imagesSettings(kubelet, snapshot),
      onEvent: (event) => events.record(event),
    });
    shutdown.register('images', () => this.images.close());
    const probes = ProbesThread.start({
      state,
      logger: log('probes'),
      settings: { runtimeEndpoint: kubelet.config.containerRuntimeEndpoint },
      onResults: (results) => this.#told.onProbeResults?.(results),
    });
    shutdown.register('probes', () => probes.close());
    this.runtimeState = new RuntimeState({
      fetchFacts: () => this.#pleg.runtimeStatus(),
      onRecovered: () => this.#told.onRuntimeRecovered?.(),
      onChanged: () => this.#told.onRuntimeChanged?.(),
      clock,
      logger: log('runtime-state'),
    });
  }

  /** These are told from now on, beside those of before. */
  connect(told: Partial<ObserverListeners>): void {
    this.#told = { ...this.#told, ...told };
  }

  /** At one pod, now. */
  look(uid: PodUID, created?: CreatedObjects, sequence?: number): Promise<RuntimePodStatus | null> {
    return this.#pleg.inspectPod(uid, created, sequence);
  }

  /**
   * However long the runtime is not there; it is watched from then on. The threads know by then who drives the cgroups. Rejects with the
   * signal's reason.
   */
  async untilRuntimeAnswers(): Promise<void> {
    const { signal, threads: first } = this.#options;
    const facts = await untilAborted(this.runtimeState.untilFirstStatus(signal), signal);
    void this.runtimeState.watch(signal);
    setRuntimeCgroupDriver(first.state.runtimeCgroupDriver, facts.cgroupDriver);
    first.pool.prepare();
  }

  /** All pods that the runtime has are in the cache: one that runs since before must not be taken for one that never started. */
  untilFirstList(): Promise<void> {
    return untilAborted(this.#firstList.promise, this.#options.signal);
  }

  #onMessage(message: PlegNotification): void {
    const { cache, log } = this.#options;
    const fault = { handler: 'pleg', logger: log('pleg') };
    // Always: what is seen before there are workers is what they begin with.
    const changed = cache.apply(message);
    contain(fault, () => this.#told.onStatuses?.(changed));
    contain(fault, () => this.#told.onLifecycleEvents?.(message.events, message.inspection));
    if (cache.isComplete) this.#firstList.resolve();
  }
}
