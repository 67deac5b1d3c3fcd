/**
 * Watches for processes that the kernel's OOM killer ends: counts them per cgroup, and reports each that ended because the node's memory was exhausted. Created
 * by the stats thread, which calls `read` with each sample. The kernel reports at most 10 kills in 5 s (oom_rs in mm/oom_kill.c), so that kills need no other limit.
 * Upstream: pkg/kubelet/oom, and watchForNewOoms of cadvisor's manager.
 */
import type { SystemOOM } from '../../../shared/contracts/stats.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { KernelLog } from './kernel-log.ts';
import { OomParser } from './oom-parser.ts';

export interface OomWatcherOptions {
  readonly onSystemOOM: (event: SystemOOM) => void;
  /** Counts a kill in this cgroup. */
  readonly onKill: (cgroup: string) => void;
  readonly logger: Logger;
  /** Default: /dev/kmsg. */
  readonly path?: string;
}

export class OomWatcher {
  readonly #options: OomWatcherOptions;
  readonly #parser = new OomParser();
  readonly #log: KernelLog | undefined;
  #failing = false;

  /** Without access to the kernel's log no kill is seen. The failure is logged. */
  constructor(options: OomWatcherOptions) {
    this.#options = options;
    try {
      this.#log = new KernelLog(options.path);
    } catch (err) {
      options.logger.warn({ err }, 'Could not open the kernel’s log: ends of processes for lack of memory are not counted');
    }
  }

  read(): void {
    const { logger } = this.#options;
    try {
      this.#log?.read(
        (record) => this.#add(record),
        () => this.#parser.reset(),
      );
      this.#failing = false;
    } catch (err) {
      if (!this.#failing) logger.warn({ err }, 'Reading the kernel’s log failed');
      this.#failing = true;
    }
  }

  close(): void {
    this.#log?.close();
  }

  #add(record: string): void {
    const kill = this.#parser.add(record);
    if (!kill) return;
    this.#options.logger.info({ ...kill }, 'The kernel ended a process for lack of memory');
    this.#options.onKill(kill.cgroup);
    if (kill.isSystemOOM) this.#options.onSystemOOM({ pid: kill.pid, processName: kill.processName });
  }
}
