/**
 * Memory thresholds of cgroup v1: the kernel adds to an eventfd when the usage of a cgroup crosses a threshold, in either direction. The threshold depends
 * on the reclaimable file pages, so it is registered again from time to time. cgroup v2 has no such thresholds. Upstream: threshold_notifier_linux.go.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { MemoryThreshold } from '../../../shared/contracts/stats.ts';
import { EventFd } from '../../../shared/linux/poll.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { readCgroupFile } from '../cgroup-file.ts';
import { statValue, toLimit } from '../parse-cgroup-files.ts';
import { computeUsageThreshold, type CgroupMemory } from './compute-usage-threshold.ts';

export interface UsageNotifierOptions {
  /** The thresholds may change. */
  readonly thresholds: () => readonly MemoryThreshold[];
  /** The folders of the two scopes in the memory hierarchy. A folder may appear later. */
  readonly directories: () => Readonly<Record<MemoryThreshold['scope'], string>>;
  readonly machineMemoryBytes: () => number;
  readonly logger: Logger;
}

export class UsageNotifier {
  readonly #options: UsageNotifierOptions;
  /** Closing the eventfd removes its thresholds. */
  #event: EventFd | undefined;
  /** The registered thresholds, as JSON. */
  #registered = '';
  #failing = false;

  constructor(options: UsageNotifierOptions) {
    this.#options = options;
  }

  /** Undefined before the first `refresh`. */
  get event(): EventFd | undefined {
    return this.#event;
  }

  /** Replaces the registered thresholds by those for the present usage. Must not be called during a poll for `event`, because its descriptor changes. */
  refresh(): void {
    const { logger } = this.#options;
    try {
      this.#register(this.#compute());
      this.#failing = false;
    } catch (err) {
      if (!this.#failing)
        logger.warn({ err }, 'Can’t ask the kernel for notifications of memory usage: evictions are checked periodically');
      this.#failing = true;
    }
  }

  /** Idempotent. */
  close(): void {
    this.#event?.close();
    this.#event = undefined;
  }

  #compute(): { directory: string; bytes: number }[] {
    const directories = this.#options.directories();
    return this.#options.thresholds().flatMap((threshold) => {
      const directory = directories[threshold.scope];
      const usage = this.#readUsage(threshold.scope, directory);
      const bytes = usage && computeUsageThreshold(threshold, usage);
      return bytes === undefined ? [] : [{ directory, bytes }];
    });
  }

  /** Undefined while the cgroup does not exist. */
  #readUsage(scope: MemoryThreshold['scope'], directory: string): CgroupMemory | undefined {
    const stat = readCgroupFile(join(directory, 'memory.stat'));
    if (stat === undefined) return undefined;
    const machineBytes = this.#options.machineMemoryBytes();
    const capacityBytes = scope === 'node' ? machineBytes : toLimit(readCgroupFile(join(directory, 'memory.limit_in_bytes')));
    return { capacityBytes, inactiveFileBytes: statValue(stat, 'total_inactive_file') };
  }

  #register(thresholds: readonly { directory: string; bytes: number }[]): void {
    const wantedThresholds = JSON.stringify(thresholds);
    if (wantedThresholds === this.#registered && this.#event) return;
    const event = new EventFd();
    try {
      for (const { directory, bytes } of thresholds) registerThreshold(directory, event.fd, bytes);
    } catch (err) {
      event.close();
      throw err;
    }
    this.#event?.close();
    this.#event = event;
    this.#registered = wantedThresholds;
    this.#options.logger.debug({ thresholds }, 'Asked the kernel for notifications of memory usage');
  }
}

function registerThreshold(directory: string, eventFd: number, bytes: number): void {
  const usage = openSync(join(directory, 'memory.usage_in_bytes'), 'r');
  try {
    const control = openSync(join(directory, 'cgroup.event_control'), 'w');
    try {
      writeSync(control, `${eventFd} ${usage} ${bytes}`);
    } finally {
      closeSync(control);
    }
  } finally {
    closeSync(usage);
  }
}
