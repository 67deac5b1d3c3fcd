/** Records when a watch saw each pod added, running, ready and gone. */
import type { ApiClient } from '../../lab/control-plane/control-plane-api.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { ApiWatch } from './api-watch.ts';

/** Monotonic ms of the first event of each kind. */
export interface PodTimes {
  addedMs?: number;
  runningMs?: number;
  readyMs?: number;
  goneMs?: number;
}

export class PodWatch {
  readonly #times: Map<string, PodTimes>;
  readonly #watch: ApiWatch<Pod>;

  private constructor(watch: ApiWatch<Pod>, times: Map<string, PodTimes>) {
    this.#watch = watch;
    this.#times = times;
  }

  /** Watches the pods of one namespace. */
  static async start(api: ApiClient, namespace: string): Promise<PodWatch> {
    const times = new Map<string, PodTimes>();
    const watch = await ApiWatch.start<Pod>(api, `/api/v1/namespaces/${namespace}/pods`, ({ type, object }, atMs) => {
      const { name } = object.metadata;
      const seen = times.get(name) ?? {};
      times.set(name, seen);
      if (type === 'ADDED') seen.addedMs ??= atMs;
      if (type === 'DELETED') seen.goneMs ??= atMs;
      if (object.status?.phase === 'Running') seen.runningMs ??= atMs;
      if (object.status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True')) seen.readyMs ??= atMs;
    });
    return new PodWatch(watch, times);
  }

  /** Waits until all these pods have reached the state. Returns the times in the order of the names. */
  async waitUntil(what: 'added' | 'running' | 'ready' | 'gone', names: readonly string[], timeoutMs: number): Promise<number[]> {
    const times = () => names.map((name) => this.#times.get(name)?.[`${what}Ms`]).filter((ms) => ms !== undefined);
    try {
      await this.#watch.waitUntil(`${names.length} pods are ${what}`, timeoutMs, () => times().length === names.length);
    } catch (err) {
      throw new Error(`${times().length} of ${names.length} pods were seen ${what}`, { cause: err });
    }
    return times();
  }

  close(): Promise<void> {
    return this.#watch.close();
  }
}
