/**
 * How the runtime is, asked every five seconds through the pleg thread: whether pods can be synced at all, whether its network is ready,
 * and what it is. Upstream: updateRuntimeUp in pkg/kubelet/kubelet.go and pkg/kubelet/runtime.go.
 *
 * A runtime that is not there, at start or later, is not the kubelet's end: it says so, once for each change, and asks on.
 */
import type { RuntimeFacts } from '../../../shared/contracts/pleg.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { Wakeup } from '../../../shared/concurrency/wakeup.ts';

export interface RuntimeStateDependencies {
  /** Must settle. */
  readonly fetchFacts: () => Promise<RuntimeFacts>;
  /** It answers again after it did not, or is ready after it was not: what failed meanwhile need not wait for its back-off. Told twice. */
  readonly onRecovered: () => void;
  /** Whether it is well, or what is wrong with it, is not what it was; also with the first answer. */
  readonly onChanged?: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const periodMs = 5000;
/** While something is wrong with it, or seems to be: its return is to be seen soon. */
const unhealthyPeriodMs = 1000;
/**
 * After its return, the pods are told once more: other threads' connections try again at their own pace (grpc's longest back-off in
 * shared/cri/client.ts is 3 s), and what they were asked before fails still.
 */
const secondNotificationDelayMs = 3500;
/** Upstream's maxWaitForContainerRuntime: without a good answer for so long, the runtime counts as down. */
const downAfterMs = 30_000;
/** Until the first answer it is asked sooner, from 100 ms, doubling, to the period. */
const firstRetryMs = 100;
const statusUnknownMessage = 'container runtime status check may not have completed yet';

export class RuntimeState {
  readonly #deps: RuntimeStateDependencies;
  #facts: RuntimeFacts | null = null;
  /** Monotonic ms of the last answer by which the runtime was ready. */
  #readyAtMs = -Infinity;
  #notReady: string | null = null;
  /** The problem as it was last told, null for none, so that the log says each change once. */
  #told: string | null | undefined;
  readonly #suspicion: Wakeup;
  #cancelReminder: () => void = () => {};

  constructor(dependencies: RuntimeStateDependencies) {
    this.#deps = dependencies;
    this.#suspicion = new Wakeup(dependencies.clock);
  }

  /** The last answer; null: there was none yet. */
  get facts(): RuntimeFacts | null {
    return this.#facts;
  }

  /** Why no pod can be synced now; null: it can. Upstream: runtimeErrors. */
  errors(): string | null {
    if (this.#facts === null) return statusUnknownMessage;
    if (this.#notReady !== null) return this.#notReady;
    return this.#deps.clock.monotonic() - this.#readyAtMs > downAfterMs ? 'container runtime is down' : null;
  }

  /** All that is wrong with the runtime, as the node's Ready condition tells it. Upstream: runtimeErrors. */
  problems(): string[] {
    const sinceReadyMs = this.#deps.clock.monotonic() - this.#readyAtMs;
    const isDown = sinceReadyMs > downAfterMs ? 'container runtime is down' : null;
    const heard = this.#readyAtMs === -Infinity ? statusUnknownMessage : isDown;
    return [heard, this.#notReady].filter((problem) => problem !== null);
  }

  /** Why only pods on the host's network may start; null: all may. */
  networkErrors(): string | null {
    if (this.#facts === null) return 'network state unknown';
    const network = this.#facts.conditions.find(({ type }) => type === 'NetworkReady');
    if (network?.status) return null;
    return `container runtime network not ready: ${describe('NetworkReady', network)}`;
  }

  /** Asks until there is a first answer. Rejects with the signal's reason. */
  async untilFirstStatus(signal: AbortSignal): Promise<RuntimeFacts> {
    let delayMs = firstRetryMs;
    for (;;) {
      await this.#askOnce(signal);
      if (this.#facts) return this.#facts;
      await this.#deps.clock.sleep(delayMs, signal);
      delayMs = Math.min(periodMs, delayMs * 2);
    }
  }

  /** Asks every five seconds, sooner while it is not well or seems not to be, until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(unhealthyPeriodMs, signal).catch(() => {});
      if (this.#told === null) await this.#suspicion.next(periodMs - unhealthyPeriodMs, signal);
      if (!signal.aborted) await this.#askOnce(signal);
    }
    this.#cancelReminder();
  }

  /** Something that needs the runtime has failed: it is asked within a second, so that also a short absence is noticed. */
  checkSoon(): void {
    this.#suspicion.wake();
  }

  async #askOnce(signal: AbortSignal): Promise<void> {
    try {
      const facts = await this.#deps.fetchFacts();
      this.#facts = facts;
      const ready = facts.conditions.find(({ type }) => type === 'RuntimeReady');
      this.#notReady = ready?.status ? null : `container runtime not ready: ${describe('RuntimeReady', ready)}`;
      if (ready?.status) this.#readyAtMs = this.#deps.clock.monotonic();
      this.#tell(this.#notReady ?? this.networkErrors());
    } catch (err) {
      // Who would have answered may have been stopped with the kubelet.
      if (!signal.aborted) this.#tell(`container runtime does not answer: ${messageOf(err)}`);
    }
  }

  #tell(problem: string | null): void {
    const { logger, clock, onRecovered } = this.#deps;
    const before = this.#told;
    if (problem === before) return;
    this.#told = problem;
    this.#deps.onChanged?.();
    if (problem !== null) {
      logger.error({ err: problem }, 'Container runtime sanity check failed, will ask again');
      return;
    }
    logger.info({ runtime: this.#facts?.runtimeName, version: this.#facts?.runtimeVersion }, 'Container runtime is ready');
    if (before === undefined) return;
    onRecovered();
    this.#cancelReminder();
    this.#cancelReminder = clock.after(secondNotificationDelayMs, onRecovered);
  }
}

function describe(type: string, condition: RuntimeFacts['conditions'][number] | undefined): string {
  if (!condition) return `${type} is not reported`;
  return `${type}=${condition.status} reason:${condition.reason} message:${condition.message}`;
}
