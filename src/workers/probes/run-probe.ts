/**
 * One run of a probe: its attempts and its event (upstream prober.go: probe and runProbeWithRetries). Each attempt has the probe's full timeout, from its own start.
 *
 * A failure that this node may have caused is not counted: when the thread could not run during an attempt, a timeout or a closed connection says nothing about
 * the container. Such an attempt is repeated. The last repetition counts if the thread ran for half of it; otherwise the run has no result.
 */
import type { ProbeEvent, ProbeType } from '../../shared/contracts/probes.ts';
import { contain } from '../../shared/faults/contain.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { probeRepeats } from '../../shared/metrics/definitions/probes.ts';
import type { Attempt, AttemptResult } from './actions/attempt.ts';
import type { AttemptTarget, StartAttempt } from './actions/start-attempt.ts';
import { isDoubtful } from './is-doubtful.ts';
import type { LoopDelay } from './schedule/loop-delay.ts';
import type { TimerEntry, TimerQueue } from './schedule/timer-queue.ts';

/** Upstream: maxProbeRetries. */
const maxAttempts = 3;
/** Repetitions of attempts that this node has disturbed. */
const maxRepeats = 3;

export interface RunResult {
  /** Null: the result is discarded. */
  readonly outcome: 'success' | 'failure' | null;
  readonly event?: Pick<ProbeEvent, 'reason' | 'message'>;
}

export interface RunDependencies {
  readonly timers: TimerQueue;
  readonly loopDelay: LoopDelay;
  readonly startAttempt: StartAttempt;
  readonly logger: Logger;
}

export class ProbeRun {
  readonly #deps: RunDependencies;
  readonly #probe: ProbeType;
  readonly #target: AttemptTarget;
  readonly #done: (result: RunResult) => void;
  #attempt: Attempt | undefined;
  /** Identifies the current attempt: a timer or a result of an earlier attempt is ignored. */
  #attemptNumber = 0;
  #timeout: TimerEntry | undefined;
  /** The loop delay at the start of the current attempt. */
  #delayAtStartMs = 0;
  /** Attempts whose result was not doubtful. */
  #countedAttempts = 0;
  /** Attempts whose result was doubtful. */
  #repeats = 0;
  #isOver = false;

  /** Starts the run. Calls `done` once, at the earliest in the next iteration of the event loop. */
  constructor(deps: RunDependencies, probe: ProbeType, target: AttemptTarget, done: (result: RunResult) => void) {
    this.#deps = deps;
    this.#probe = probe;
    this.#target = target;
    this.#done = done;
    deps.loopDelay.begin();
    this.#start();
  }

  /** Ends the run; `done` is not called any more. */
  cancel(): void {
    if (this.#isOver) return;
    this.#end();
    this.#attempt?.cancel();
  }

  #start(): void {
    const { timers, loopDelay, startAttempt, logger } = this.#deps;
    const number = (this.#attemptNumber += 1);
    this.#delayAtStartMs = loopDelay.totalMs;
    const { action, timeoutSeconds } = this.#target;
    // The runtime enforces the timeout of a command.
    if (action.type !== 'exec') this.#timeout = timers.at(timers.nowMs() + timeoutSeconds * 1000, () => this.#onTimeout(number));
    const onDone = (result: AttemptResult) => {
      // An attempt that fails at once must not call back into its caller, so this call comes later.
      if (this.#attempt === undefined) setImmediate(() => this.#onAttempt(number, result));
      else this.#onAttempt(number, result);
    };
    this.#attempt = undefined;
    const attempt = contain({ handler: 'probe', logger }, () => startAttempt(this.#target, onDone));
    if (attempt) this.#attempt = attempt;
    else onDone({ outcome: 'unknown', output: 'the probe could not be started', isError: true });
  }

  /** The input that has arrived is read before the timeout counts: setImmediate runs after the input. */
  #onTimeout(number: number): void {
    setImmediate(() => {
      if (!this.#isOver && number === this.#attemptNumber) this.#attempt?.timeOut();
    });
  }

  #onAttempt(number: number, result: AttemptResult): void {
    if (this.#isOver || number !== this.#attemptNumber) return;
    this.#deps.timers.cancel(this.#timeout);
    const delayedMs = this.#deps.loopDelay.totalMs - this.#delayAtStartMs;
    const isLast = this.#repeats === maxRepeats;
    if (isDoubtful(result, delayedMs, this.#target.timeoutSeconds * 1000, isLast)) {
      probeRepeats.inc({ probe_type: this.#probe });
      this.#repeats += 1;
      if (this.#repeats <= maxRepeats && result.doubt !== 'node' && this.#mayRepeat()) this.#start();
      else this.#finish({ outcome: null });
      return;
    }
    this.#countedAttempts += 1;
    if (result.isError && this.#countedAttempts < maxAttempts && this.#mayRepeat()) this.#start();
    else this.#finish(toRunResult(this.#probe, result));
  }

  #mayRepeat(): boolean {
    return this.#target.mayRepeat?.() ?? true;
  }

  #finish(result: RunResult): void {
    this.#end();
    this.#done(result);
  }

  #end(): void {
    this.#isOver = true;
    this.#deps.timers.cancel(this.#timeout);
    this.#deps.loopDelay.end();
  }
}

const titles: Readonly<Record<ProbeType, string>> = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' };

/** Upstream: prober.go probe, with its messages. */
export function toRunResult(probe: ProbeType, { outcome, output, isError }: AttemptResult): RunResult {
  const title = titles[probe];
  if (isError)
    return { outcome: null, event: { reason: 'Unhealthy', message: `${title} probe errored and resulted in ${outcome} state: ${output}` } };
  if (outcome === 'warning') return { outcome: 'success', event: { reason: 'ProbeWarning', message: `${title} probe warning: ${output}` } };
  if (outcome === 'failure') return { outcome: 'failure', event: { reason: 'Unhealthy', message: `${title} probe failed: ${output}` } };
  return { outcome: outcome === 'success' ? 'success' : 'failure' };
}
