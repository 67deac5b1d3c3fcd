/** The API server of a modelled node: pods in memory, replies that fail or get lost, and a watch that shows changes later. */
import { ApiError, type ApiClient } from '../../../src/main/api/index.ts';
import type { Pod, PodStatus } from '../../../src/shared/kubernetes/api.ts';
import { FakePodApi } from '../api-server/fake-pod-api.ts';
import type { Life, ModelClock } from './model-clock.ts';

export interface ApiFault {
  readonly kind: 'fail' | 'failAfter' | 'delay';
  times: number;
}

const latencyMs = 5;
const delayMs = 700;

export class ModelApi {
  readonly pods = new FakePodApi();
  fault: ApiFault | null = null;
  /** The watch shows nothing before this time of the clock. */
  watchDownUntilMs = 0;
  /** The watch shows all pods as they are now. */
  onWatch: (pods: readonly Pod[]) => void = () => {};
  onStatus: (podUID: string, status: PodStatus) => void = () => {};
  onRemoved: (podUID: string) => void = () => {};
  readonly #clock: ModelClock;
  #isScheduled = false;

  constructor(clock: ModelClock) {
    this.#clock = clock;
  }

  client(life: Life): ApiClient {
    return {
      call: <T>(call: Parameters<ApiClient['call']>[0]) =>
        life.isAlive ? life.guard(this.#call<T>(call, life)) : new Promise<T>(() => {}),
      onRecovery: () => () => {},
      watch: () => {
        throw new Error('the model has its own watch');
      },
    } as ApiClient;
  }

  put(pod: Pod): void {
    this.pods.put(pod);
    this.changed();
  }

  remove(name: string): void {
    this.pods.pods.delete(name);
    this.changed();
  }

  /** Shows the change after the watch's latency. */
  changed(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.after(Math.max(latencyMs, this.watchDownUntilMs - this.#clock.monotonic()), () => {
      this.#isScheduled = false;
      if (this.#clock.monotonic() < this.watchDownUntilMs) return this.changed();
      this.show();
    });
  }

  show(): void {
    this.pods.syncWatch();
    this.onWatch(structuredClone([...this.pods.watched.values()]));
  }

  async #call<T>(call: Parameters<ApiClient['call']>[0], life: Life): Promise<T> {
    await this.#clock.sleep(latencyMs);
    const fault = this.fault?.kind;
    if (this.fault && (this.fault.times -= 1) <= 0) this.fault = null;
    if (fault === 'delay') await this.#clock.sleep(delayMs);
    // A late status of a killed kubelet would replace the next kubelet's, also with upstream, whose patches have no precondition either.
    if (!life.isAlive) return new Promise(() => {});
    if (fault === 'fail') throw new ApiError(500, 'InternalError', 'a fault of the test');
    const result = await this.pods.call<Pod>(call);
    this.changed();
    if (call.method === 'PATCH') this.onStatus(result.metadata.uid, structuredClone(result.status ?? {}));
    if (call.method === 'DELETE') this.onRemoved(result.metadata.uid);
    if (fault === 'failAfter') throw new ApiError(0, 'Timeout', 'a fault of the test, after the fact');
    return result as T;
  }
}
