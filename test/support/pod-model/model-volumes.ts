/** The volumes in memory of a modelled node: their sizes, which outlive a kubelet. */
import { memoryLimitsOf } from '../../../src/shared/kubernetes/memory-volumes.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { KillPoints } from './kill-points.ts';
import type { Life, ModelClock } from './model-clock.ts';

const resizeMs = 1;

export class ModelVolumes {
  /** By pod, then by volume. */
  readonly #sizes = new Map<string, Map<string, string>>();
  readonly #clock: ModelClock;
  readonly #killPoints: KillPoints;

  constructor(clock: ModelClock, killPoints: KillPoints) {
    this.#clock = clock;
    this.#killPoints = killPoints;
  }

  sizesOf(podUID: string): ReadonlyMap<string, string> {
    return this.#sizes.get(podUID) ?? new Map<string, string>();
  }

  /** One that is mounted keeps its size. */
  mount({ metadata, spec }: Pod): void {
    this.#sizes.set(metadata.uid, new Map([...memoryLimitsOf(spec), ...this.sizesOf(metadata.uid)]));
  }

  async resize(life: Life, { metadata, spec }: Pod, volume: string): Promise<void> {
    await this.#clock.sleep(resizeMs);
    this.#killPoints.pass();
    const size = memoryLimitsOf(spec).get(volume);
    if (!life.isAlive || size === undefined) return;
    this.#sizes.set(metadata.uid, new Map([...this.sizesOf(metadata.uid), [volume, size]]));
    this.#killPoints.pass();
  }

  remove(podUID: string): void {
    this.#sizes.delete(podUID);
  }
}
