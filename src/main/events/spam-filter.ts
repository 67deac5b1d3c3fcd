/**
 * Rate-limits events per object and type (client-go tools/record: EventSourceObjectSpamFilter), so that a pod that fails for days floods
 * neither the log nor the API server.
 */
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { LruMap } from './lru-map.ts';

/** client-go's defaults: a burst of 25 events per object, then one event every five minutes, for the 4096 last used objects. */
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

  /** False when the object has exceeded its rate. */
  admit({ object, type }: Pick<RecordedEvent, 'object' | 'type'>): boolean {
    const key = `${object.kind}/${object.namespace}/${object.name}/${object.uid}/${type}`;
    const nowMs = this.#clock.monotonic();
    const { tokens, updatedAtMs } = this.#buckets.get(key) ?? { tokens: burst, updatedAtMs: nowMs };
    const filled = Math.min(burst, tokens + (nowMs - updatedAtMs) / refillMs);
    this.#buckets.set(key, { tokens: filled < 1 ? filled : filled - 1, updatedAtMs: nowMs });
    return filled >= 1;
  }
}
