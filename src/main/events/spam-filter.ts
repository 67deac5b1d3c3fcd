/**
 * Cuts off a burst of events about one object (client-go tools/record: EventSourceObjectSpamFilter), so that a pod that fails for days
 * fills neither the log nor the API server.
 */
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { LruMap } from './lru-map.ts';

/** client-go's defaults: this many at once about one object, then one each five minutes; the objects that are remembered. */
const burst = 25;
const refillMs = 5 * 60 * 1000;
const rememberedObjects = 4096;

interface Bucket {
  readonly tokens: number;
  readonly updatedAtMs: number;
}

export class SpamFilter {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #buckets = new LruMap<string, Bucket>(rememberedObjects);

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** False: there were too many of this object and type. */
  admit({ object, type }: Pick<RecordedEvent, 'object' | 'type'>): boolean {
    const key = `${object.kind}/${object.namespace}/${object.name}/${object.uid}/${type}`;
    const nowMs = this.#clock.monotonic();
    const { tokens, updatedAtMs } = this.#buckets.get(key) ?? { tokens: burst, updatedAtMs: nowMs };
    const filled = Math.min(burst, tokens + (nowMs - updatedAtMs) / refillMs);
    this.#buckets.set(key, { tokens: filled < 1 ? filled : filled - 1, updatedAtMs: nowMs });
    return filled >= 1;
  }
}
