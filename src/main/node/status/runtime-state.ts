/**
 * Polls the runtime's status every five seconds through the pleg thread: whether pods can be synced, whether the network is ready, and the
 * runtime's version and features. Upstream: updateRuntimeUp in pkg/kubelet/kubelet.go and pkg/kubelet/runtime.go.
 *
 * An unavailable runtime, at start or later, does not end the kubelet. Each change is logged once, and polling continues.
 */
import type { RuntimeInfo } from '../../../shared/contracts/pleg.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { Wakeup } from '../../../shared/concurrency/wakeup.ts';
import { Listeners } from '../../../shared/concurrency/listeners.ts';

export interface RuntimeStateDependencies {
  /** Requests the runtime's status. The promise must settle. */
  readonly fetchInfo: () => Promise<RuntimeInfo>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const periodMs = 5000;
/** The period while the runtime is unhealthy or suspected to be, so that a recovery is noticed soon. */
const unhealthyPeriodMs = 1000;
/**
 * The delay of the second notification after a recovery. Other threads' connections reconnect later (grpc's maximum back-off in
 * shared/cri/client.ts is 3 s), and requests before that still fail.
 */
const secondNotificationDelayMs = 3500;
/** Upstream's maxWaitForContainerRuntime. A runtime that was not ready for this long counts as down. */
const downAfterMs = 30_000;
/** The first retry before the first status. The delay doubles up to the period. */
const firstRetryMs = 100;
const statusUnknownMessage = 'container runtime status check may not have completed yet';

export class RuntimeState {
  readonly #deps: RuntimeStateDependencies;
  #info: RuntimeInfo | null = null;
  /** Monotonic ms of the last status with RuntimeReady. */
  #readyAtMs = -Infinity;
  #notReady: string | null = null;
  /** The last reported problem. Null: healthy. Undefined: no status yet. */
  #reportedProblem: string | null | undefined;
  readonly #wakeup: Wakeup;
  #cancelSecondNotification: () => void = () => {};
  readonly #recoveryListeners = new Listeners();
  readonly #changeListeners = new Listeners();

  constructor(dependencies: RuntimeStateDependencies) {
    this.#deps = dependencies;
    this.#wakeup = new Wakeup(dependencies.clock);
  }

  /** Adds a listener for recoveries, so that failed pod syncs need not wait for their back-off. Called twice per recovery. */
  onRecovered(listener: () => void): () => void {
    return this.#recoveryListeners.add(listener);
  }

  /** Adds a listener for changes of the runtime's problem. Called with the first status too. */
  onChanged(listener: () => void): () => void {
    return this.#changeListeners.add(listener);
  }

  /** The last status. Null: none yet. */
  get info(): RuntimeInfo | null {
    return this.#info;
  }

  /** Returns the first reason for which no pod can be synced, or null. Upstream: runtimeErrors. */
  errors(): string | null {
    if (this.#info === null) return statusUnknownMessage;
    if (this.#notReady !== null) return this.#notReady;
    return this.#deps.clock.monotonic() - this.#readyAtMs > downAfterMs ? 'container runtime is down' : null;
  }

  /** Returns all problems of the runtime for the node's Ready condition. Upstream: runtimeErrors. */
  problems(): string[] {
    const sinceReadyMs = this.#deps.clock.monotonic() - this.#readyAtMs;
    const isDown = sinceReadyMs > downAfterMs ? 'container runtime is down' : null;
    const statusProblem = this.#readyAtMs === -Infinity ? statusUnknownMessage : isDown;
    return [statusProblem, this.#notReady].filter((problem) => problem !== null);
  }

  /** Returns the reason for which only pods on the host's network may start, or null. */
  networkErrors(): string | null {
    if (this.#info === null) return 'network state unknown';
    const network = this.#info.conditions.find(({ type }) => type === 'NetworkReady');
    if (network?.status) return null;
    return `container runtime network not ready: ${describe('NetworkReady', network)}`;
  }

  /** Polls until the first status. Rejects with the signal's reason. */
  async untilFirstStatus(signal: AbortSignal): Promise<RuntimeInfo> {
    let delayMs = firstRetryMs;
    for (;;) {
      await this.#poll(signal);
      if (this.#info) return this.#info;
      await this.#deps.clock.sleep(delayMs, signal);
      delayMs = Math.min(periodMs, delayMs * 2);
    }
  }

  /** Polls every five seconds, or every second while the runtime is unhealthy or suspected to be, until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(unhealthyPeriodMs, signal).catch(() => {});
      if (this.#reportedProblem === null) await this.#wakeup.next(periodMs - unhealthyPeriodMs, signal);
      if (!signal.aborted) await this.#poll(signal);
    }
    this.#cancelSecondNotification();
  }

  /** Called when a request to the runtime failed. Polls within a second, so that a short outage is noticed. */
  checkSoon(): void {
    this.#wakeup.wake();
  }

  async #poll(signal: AbortSignal): Promise<void> {
    try {
      const info = await this.#deps.fetchInfo();
      this.#info = info;
      const ready = info.conditions.find(({ type }) => type === 'RuntimeReady');
      this.#notReady = ready?.status ? null : `container runtime not ready: ${describe('RuntimeReady', ready)}`;
      if (ready?.status) this.#readyAtMs = this.#deps.clock.monotonic();
      this.#reportProblem(this.#notReady ?? this.networkErrors());
    } catch (err) {
      // At shutdown the pleg thread may already have stopped.
      if (!signal.aborted) this.#reportProblem(`container runtime does not answer: ${messageOf(err)}`);
    }
  }

  #reportProblem(problem: string | null): void {
    const { logger, clock } = this.#deps;
    const previousProblem = this.#reportedProblem;
    if (problem === previousProblem) return;
    this.#reportedProblem = problem;
    this.#changeListeners.notify();
    if (problem !== null) {
      logger.error({ err: problem }, 'Container runtime sanity check failed, will retry');
      return;
    }
    logger.info({ runtime: this.#info?.runtimeName, version: this.#info?.runtimeVersion }, 'Container runtime is ready');
    if (previousProblem === undefined) return;
    const notify = () => this.#recoveryListeners.notify();
    notify();
    this.#cancelSecondNotification();
    this.#cancelSecondNotification = clock.after(secondNotificationDelayMs, notify);
  }
}

function describe(type: string, condition: RuntimeInfo['conditions'][number] | undefined): string {
  if (!condition) return `${type} is not reported`;
  return `${type}=${condition.status} reason:${condition.reason} message:${condition.message}`;
}
