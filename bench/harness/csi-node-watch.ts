/** When the CSINode of the benchmarks' node got a driver, and how long the registration of a driver takes. */
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiWatch } from './api-watch.ts';
import { nodeName, type BenchCluster } from './cluster.ts';
import type { BenchCsiDriver } from './csi-drivers.ts';
import { computeTimeShares } from './statistics.ts';
import { epochToMonotonicMs } from './timestamps.ts';

interface CsiNode {
  readonly metadata: { readonly resourceVersion?: string };
  readonly spec: { readonly drivers: readonly { readonly name: string }[] | null };
}

export interface Registration {
  /** From the driver's socket until a watch saw the driver in the CSINode. */
  readonly totalMs: number;
  /** The part of it in the driver's calls. */
  readonly callsMs: number;
}

const timeoutMs = 60_000;
/** A driver is not replaced within the moment of its registration. */
const settleMs = 500;

export class CsiNodeWatch {
  readonly #watch: ApiWatch<CsiNode>;
  /** By driver: since when the CSINode has it, monotonic ms. */
  readonly #since: Map<string, number>;

  private constructor(watch: ApiWatch<CsiNode>, since: Map<string, number>) {
    this.#watch = watch;
    this.#since = since;
  }

  /** Must be called before a driver starts. */
  static async start({ api }: BenchCluster): Promise<CsiNodeWatch> {
    const since = new Map<string, number>();
    const path = `/apis/storage.k8s.io/v1/csinodes?fieldSelector=metadata.name%3D${nodeName}`;
    const watch = await ApiWatch.start<CsiNode>(api, path, ({ type, object }, atMs) => {
      const names = new Set(type === 'DELETED' ? [] : object.spec.drivers?.map(({ name }) => name));
      for (const name of since.keys()) if (!names.has(name)) since.delete(name);
      for (const name of names) if (!since.has(name)) since.set(name, atMs);
    });
    return new CsiNodeWatch(watch, since);
  }

  /** Starts the driver, and resolves when it is registered. */
  async register(driver: BenchCsiDriver): Promise<Registration> {
    const { name, registrationSocket } = driver.options;
    await driver.start();
    // The kernel's timestamps are those of its last tick: up to 4 ms too early, to the kubelet's disadvantage.
    const startMs = statSync(registrationSocket).ctimeMs + epochToMonotonicMs();
    await this.#watch.waitUntil(`the CSINode has ${name}`, timeoutMs, () => this.#since.has(name));
    const whole = { startMs, endMs: this.#since.get(name)! };
    await sleep(settleMs);
    return { totalMs: whole.endMs - startMs, callsMs: computeTimeShares(whole, [driver.calls(startMs)]).groupsMs[0]! };
  }

  /** Ends the driver, and resolves when the CSINode is without it. */
  async unregister(driver: BenchCsiDriver): Promise<void> {
    await driver.stop();
    await this.#watch.waitUntil(`the CSINode is without ${driver.options.name}`, timeoutMs, () => !this.#since.has(driver.options.name));
    await sleep(settleMs);
  }

  close(): Promise<void> {
    return this.#watch.close();
  }
}
