/**
 * Keeps processes of the host in the cgroups of `systemCgroups` and `kubeletCgroups`, and the kubelet's OOM score at `oomScoreAdj`, against changes from
 * outside. The sync pool does the work. Upstream: setupNode and Start in pkg/kubelet/cm/container_manager_linux.go.
 */
import type { MoveProcessesResult, MoveProcessesTask } from '../../shared/contracts/pod-sync/host-processes.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';

export interface HostProcessesOptions {
  readonly config: Pick<KubeletConfiguration, 'systemCgroups' | 'kubeletCgroups' | 'oomScoreAdj'>;
  readonly moveProcesses: (task: MoveProcessesTask) => Promise<MoveProcessesResult>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Upstream's periods: of cgroups, and of the score alone. */
const cgroupsPeriodMs = 60_000;
const scorePeriodMs = 5 * 60_000;

export class HostProcesses {
  readonly #options: HostProcessesOptions;
  readonly #task: MoveProcessesTask;
  readonly #periodMs: number;
  #cancel: (() => void) | undefined;
  #isClosed = false;
  /** The failures that were logged last. */
  #reported = '';

  constructor(options: HostProcessesOptions) {
    const { systemCgroups, kubeletCgroups, oomScoreAdj } = options.config;
    this.#options = options;
    this.#task = { systemCgroup: systemCgroups, kubeletCgroup: kubeletCgroups, oomScoreAdj };
    this.#periodMs = systemCgroups === '' && kubeletCgroups === '' ? scorePeriodMs : cgroupsPeriodMs;
  }

  /** Does not wait. */
  start(): void {
    void this.#run();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  async #run(): Promise<void> {
    const { moveProcesses, clock, logger } = this.#options;
    const { failures } = await moveProcesses(this.#task).catch((err: unknown) => ({ failures: [messageOf(err)] }));
    if (this.#isClosed) return;
    const failed = failures.join('; ');
    // A missing permission stays missing: it is not reported again each time.
    if (failed !== '' && failed !== this.#reported)
      logger.warn({ err: failed }, 'Failed to ensure the cgroups and the OOM score of processes of the host');
    this.#reported = failed;
    this.#cancel = clock.after(this.#periodMs, () => void this.#run());
  }
}
