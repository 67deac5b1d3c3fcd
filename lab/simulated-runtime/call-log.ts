/**
 * Counts and records the runtime's calls, so that a benchmark can separate the kubelet's time from the runtime's. Times are
 * CLOCK_MONOTONIC in ms, which is the same clock in every process of the machine.
 */
export interface CallCounters {
  readonly count: number;
  readonly failed: number;
  readonly inFlight: number;
  readonly maxInFlight: number;
}

export interface CallRecord {
  readonly call: string;
  /** The pod, container or image of the call: see `recordedSubject` in call.ts. */
  readonly subject: string;
  readonly startMs: number;
  readonly endMs: number;
  /** gRPC code: 0 for success. */
  readonly code: number;
}

interface MutableCounters {
  count: number;
  failed: number;
  inFlight: number;
  maxInFlight: number;
}

/** The largest benchmark makes about 50,000 calls. */
const maxRecords = 100_000;

export class CallLog {
  readonly #counters = new Map<string, MutableCounters>();
  #records: CallRecord[] = [];

  begin(call: string): void {
    const counters = this.#countersOf(call);
    counters.count += 1;
    counters.inFlight += 1;
    counters.maxInFlight = Math.max(counters.maxInFlight, counters.inFlight);
  }

  end(record: CallRecord): void {
    const counters = this.#countersOf(record.call);
    counters.inFlight -= 1;
    if (record.code !== 0) counters.failed += 1;
    this.#records.push(record);
    if (this.#records.length >= 2 * maxRecords) this.#records = this.#records.slice(-maxRecords);
  }

  counters(): Readonly<Record<string, CallCounters>> {
    return Object.fromEntries([...this.#counters].map(([call, counters]) => [call, { ...counters }]));
  }

  /** Returns the most recent records, oldest first. */
  records(call?: string): readonly CallRecord[] {
    const all = this.#records.slice(-maxRecords);
    return call === undefined ? all : all.filter((record) => record.call === call);
  }

  /** Clears everything except the calls in flight. */
  reset(): void {
    this.#records = [];
    for (const counters of this.#counters.values()) {
      counters.count = counters.inFlight;
      counters.failed = 0;
      counters.maxInFlight = counters.inFlight;
    }
  }

  #countersOf(call: string): MutableCounters {
    let counters = this.#counters.get(call);
    if (!counters) this.#counters.set(call, (counters = { count: 0, failed: 0, inFlight: 0, maxInFlight: 0 }));
    return counters;
  }
}
