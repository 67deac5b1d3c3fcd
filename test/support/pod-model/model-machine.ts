/** What the machine of a modelled node has for pods. It changes while kubelets run, as with a hot-plugged CPU or other reservations. */
import { milliValue, value } from '../../../src/shared/kubernetes/quantity.ts';
import type { Life, ModelClock } from './model-clock.ts';

export type NodeAmounts = Readonly<Record<'cpu' | 'memory' | 'pods', string>>;

/** Thousandths of CPUs and bytes. */
export interface RoomForPods {
  readonly cpu: number;
  readonly memory: number;
}

export class ModelMachine {
  /** Small, so that resizes are deferred. */
  #allocatable: NodeAmounts = { cpu: '2', memory: '2Gi', pods: '110' };
  readonly #listeners = new Set<{ readonly life: Life; readonly listener: () => void }>();
  readonly #past: { readonly untilMs: number; readonly room: RoomForPods }[] = [];
  readonly #clock: ModelClock;

  constructor(clock: ModelClock) {
    this.#clock = clock;
  }

  get allocatable(): NodeAmounts {
    return this.#allocatable;
  }

  get room(): RoomForPods {
    return { cpu: milliValue(this.#allocatable.cpu), memory: value(this.#allocatable.memory) };
  }

  change(amounts: Pick<NodeAmounts, 'cpu' | 'memory'>): void {
    this.#past.push({ untilMs: this.#clock.monotonic(), room: this.room });
    this.#allocatable = { ...this.#allocatable, ...amounts };
    for (const { life, listener } of this.#listeners) if (life.isAlive) listener();
  }

  /** Returns the most that there was in this time: what was decided then may be written now. */
  mostWithin(ms: number): RoomForPods {
    const rooms = this.#past.filter(({ untilMs }) => untilMs >= this.#clock.monotonic() - ms).map(({ room }) => room);
    const most = (name: keyof RoomForPods) => Math.max(this.room[name], ...rooms.map((room) => room[name]));
    return { cpu: most('cpu'), memory: most('memory') };
  }

  /** As a kubelet watches it. */
  watchOf(life: Life): { onChanged(listener: () => void): () => void } {
    return {
      onChanged: (listener) => {
        const entry = { life, listener };
        this.#listeners.add(entry);
        return () => void this.#listeners.delete(entry);
      },
    };
  }
}
