/** Maintains the gauge of what drivers report of their storage (upstream setStorageHealthGauges). */
import type { StorageHealthCondition } from '../../../shared/contracts/volumes.ts';
import { csiNodeStorageHealthStatus } from '../../../shared/metrics/definitions/volumes.ts';

type Labels = Readonly<Record<'driver_name' | 'status' | 'reason', string>>;

/** A series is never freed, and a driver chooses the reasons. Those beyond the bound are counted without their reason. */
const maxSeries = 64;

export class StorageHealthMetrics {
  /** All series with a reason that were ever shown. */
  readonly #series = new Set<string>();
  /** What is shown of each driver. */
  readonly #shown = new Map<string, ReadonlyMap<string, Labels>>();

  /** Shows these conditions of the driver, and no others. */
  set(driver: string, conditions: readonly StorageHealthCondition[]): void {
    const next = new Map(conditions.map(({ status, reason }) => this.#labelled(driver, status, reason)));
    for (const [key, labels] of this.#shown.get(driver) ?? []) if (!next.has(key)) csiNodeStorageHealthStatus.remove(labels);
    for (const labels of next.values()) csiNodeStorageHealthStatus.set(1, labels);
    if (next.size > 0) this.#shown.set(driver, next);
    else this.#shown.delete(driver);
  }

  #labelled(driver: string, status: string, reason: string): [key: string, labels: Labels] {
    const key = `${driver} ${status} ${reason}`;
    if (!this.#series.has(key) && this.#series.size >= maxSeries)
      return [`${driver} ${status}`, { driver_name: driver, status, reason: '' }];
    this.#series.add(key);
    return [key, { driver_name: driver, status, reason }];
  }
}
