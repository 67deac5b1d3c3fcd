/** The event stream of the modelled runtime. An event only says that a pod has changed. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { ContainerEventResponse } from '../../../src/shared/cri/generated/cri-v1.ts';

export class ModelEvents {
  /** True: no event arrives. */
  isLosing = false;
  #queue: string[] = [];
  #wake: () => void = () => {};
  #ends = 0;

  send(podUID: string): void {
    if (this.isLosing || this.#queue.length > 100) return;
    this.#queue.push(podUID);
    this.#wake();
  }

  /** The runtime closes its streams. */
  end(): void {
    this.#ends += 1;
    this.#wake();
  }

  async *stream(signal: AbortSignal): AsyncGenerator<ContainerEventResponse> {
    const ends = this.#ends;
    while (!signal.aborted && this.#ends === ends) {
      const podUID = this.#queue.shift();
      if (podUID === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
        continue;
      }
      await nextIteration();
      yield ContainerEventResponse.fromPartial({ containerEventType: 1, podSandboxStatus: { metadata: { uid: podUID } } });
    }
  }
}
