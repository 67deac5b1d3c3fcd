/**
 * One probe of one container instance: its schedule, its state and its run (upstream's worker in worker.go). The probe has at most one run, which waits for a
 * slot or has started; a run that is due meanwhile is skipped.
 */
import type { ContainerID, PodUID } from '../../shared/kubernetes/ids.ts';
import type { ProbeSpec } from '../../shared/contracts/probes.ts';
import { probeLateness, probesSkipped } from '../../shared/metrics/definitions/probes.ts';
import { hasHandshake } from './actions/start-attempt.ts';
import { ProbeRun, type RunDependencies, type RunResult } from './run-probe.ts';
import { computeNextRun } from './schedule/next-run.ts';
import { computeProbeState, initialProbeState, type ProbeState } from './schedule/probe-state.ts';
import type { RunLimiter } from './schedule/run-limiter.ts';
import type { TimerEntry } from './schedule/timer-queue.ts';

/**
 * A run that starts this late moves the schedule: the next run is due one period after this start. Otherwise containers that start together would be probed
 * together for ever, and the last of them late each time. The delay of a timer alone is less.
 */
const rephasedAfterMs = 5;

export interface ContainerProbeDependencies extends RunDependencies {
  /** The limiter of the action. */
  readonly limiter: (spec: ProbeSpec) => RunLimiter;
}

export interface ContainerProbeOptions {
  readonly podUID: PodUID;
  readonly containerID: ContainerID;
  readonly spec: ProbeSpec;
  /** Called at the end of each run. `changed`: main must learn the probe's result. */
  readonly onRun: (probe: ContainerProbe, result: RunResult, run: { readonly durationMs: number; readonly changed: boolean }) => void;
}

export class ContainerProbe {
  readonly #deps: ContainerProbeDependencies;
  readonly #options: ContainerProbeOptions;
  #spec: ProbeSpec;
  #state: ProbeState;
  /** The last due time, from which the next ones are counted. */
  #dueMs = NaN;
  #timer: TimerEntry | undefined;
  /** Releases the slot of the run that waits or runs. */
  #release: (() => void) | undefined;
  #run: ProbeRun | undefined;

  constructor(deps: ContainerProbeDependencies, options: ContainerProbeOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#spec = options.spec;
    this.#state = initialProbeState(options.spec.probe, options.spec.lastResult);
  }

  get spec(): ProbeSpec {
    return this.#spec;
  }

  get state(): ProbeState {
    return this.#state;
  }

  get isScheduled(): boolean {
    return !Number.isNaN(this.#dueMs);
  }

  /** The next run uses the new spec; the schedule stays. */
  update(spec: ProbeSpec): void {
    this.#spec = spec;
  }

  /** Starts the schedule. A probe that is on hold does not run. */
  schedule(dueMs: number): void {
    if (this.#state.onHold) return;
    this.#dueMs = dueMs;
    this.#deps.timers.cancel(this.#timer);
    this.#timer = this.#deps.timers.at(dueMs, () => this.#onDue());
  }

  /** Ends the schedule and the run. */
  stop(): void {
    this.#deps.timers.cancel(this.#timer);
    this.#run?.cancel();
    this.#run = undefined;
    this.#release?.();
    this.#release = undefined;
    this.#dueMs = NaN;
  }

  #onDue(): void {
    const { timers, limiter } = this.#deps;
    const dueMs = this.#dueMs;
    this.schedule(computeNextRun(dueMs, this.#spec.periodSeconds * 1000, timers.nowMs()));
    if (this.#release) {
      probesSkipped.inc({ probe_type: this.#spec.probe });
      return;
    }
    const runLimiter = limiter(this.#spec);
    const start = () => {
      const startedAtMs = timers.nowMs();
      const lateMs = startedAtMs - dueMs;
      probeLateness.observe(lateMs / 1000, { probe_type: this.#spec.probe });
      if (lateMs >= rephasedAfterMs) this.schedule(startedAtMs + this.#spec.periodSeconds * 1000);
      const { containerID } = this.#options;
      const { action, timeoutSeconds } = this.#spec;
      const onSpent = (ms: number) => runLimiter.charge(slot, ms);
      const mayRepeat = () => runLimiter.hasTimeLeft(slot);
      this.#run = new ProbeRun(this.#deps, this.#spec.probe, { action, containerID, timeoutSeconds, onSpent, mayRepeat }, (result) => {
        this.#run = undefined;
        this.#release = undefined;
        runLimiter.release(slot);
        this.#onResult(result, timers.nowMs() - startedAtMs);
      });
    };
    const slot = runLimiter.acquire(this.#options.podUID, start, hasHandshake(this.#spec.action));
    this.#release = () => runLimiter.release(slot);
  }

  #onResult(result: RunResult, durationMs: number): void {
    const before = this.#state;
    if (result.outcome !== null) this.#state = computeProbeState(before, result.outcome, this.#spec);
    if (this.#state.onHold) this.stop();
    this.#options.onRun(this, result, { durationMs, changed: this.#state.result !== before.result });
  }
}
