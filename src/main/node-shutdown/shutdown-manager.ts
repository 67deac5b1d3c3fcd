/**
 * The shutdown manager: holds logind's delay lock, ends the pods in order when logind announces a shutdown, and releases the lock then. A cancelled
 * shutdown makes the node ready again. Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go.
 *
 * Without logind or D-Bus it tries again and changes no pod. The lock outlives the connection, so a lost connection leaves no gap.
 */
import { contain } from '../../shared/faults/contain.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import { nodeReference } from '../../shared/kubernetes/node-reference.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { EventSink } from '../events/index.ts';
import { endPods, type EndPodsDependencies } from './end-pods.ts';
import type { LogindSession } from './logind-session.ts';
import type { NodeShutdownState } from './node-shutdown-state.ts';
import type { ShutdownRecord } from './shutdown-record.ts';
import { groupByPriority, totalMs, type ShutdownPeriod } from './shutdown-periods.ts';
import type { Inhibitor } from './take-inhibitor.ts';

export interface ShutdownManagerDependencies extends Pick<EndPodsDependencies, 'kill' | 'untilFinished' | 'untilVolumesReleased'> {
  readonly periods: readonly ShutdownPeriod[];
  readonly openSession: (onPrepare: (isShuttingDown: boolean) => void) => Promise<LogindSession>;
  readonly activePods: () => readonly AllocatedPod[];
  readonly state: NodeShutdownState;
  /** Null: the times of shutdowns are not shown. */
  readonly record: Pick<ShutdownRecord, 'load' | 'store'> | null;
  readonly nodeName: string;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Upstream tries again after dbusReconnectPeriod, one second, forever. */
const backOff = { baseMs: 1000, maxMs: 30_000, factor: 2 };
/** logind reads its configuration some time after the signal. Upstream: five attempts, from 100 ms on. */
const reload = { attempts: 5, baseMs: 100, factor: 2 };

export class ShutdownManager {
  readonly #deps: ShutdownManagerDependencies;
  #inhibitor: Inhibitor | null = null;
  /** Aborted by a cancellation. Null: no shutdown. */
  #shutdown: AbortController | null = null;

  constructor(dependencies: ShutdownManagerDependencies) {
    this.#deps = dependencies;
  }

  /** Watches logind until the signal aborts, and releases the lock then. */
  async run(signal: AbortSignal): Promise<void> {
    const { record, clock, logger } = this.#deps;
    await record?.load();
    let delayMs = backOff.baseMs;
    let logged = '';
    while (!signal.aborted) {
      try {
        await this.#watch(signal, () => {
          delayMs = backOff.baseMs;
          logged = '';
        });
      } catch (err) {
        const problem = messageOf(err);
        if (!signal.aborted && problem !== logged) {
          logger.error(
            { err: problem },
            'Failed to start node shutdown manager; it tries again, and a shutdown of the node may not wait for pods',
          );
        }
        logged = problem;
      }
      await clock.sleep(delayMs, signal).catch(() => {});
      delayMs = Math.min(backOff.maxMs, delayMs * backOff.factor);
    }
    this.#replaceInhibitor(null);
  }

  /** Resolves when the connection is lost. */
  async #watch(signal: AbortSignal, onWatching: () => void): Promise<void> {
    const { openSession, logger } = this.#deps;
    let session: LogindSession | null = null;
    const early: boolean[] = [];
    const onPrepare = (isShuttingDown: boolean) => {
      if (session) this.#onPrepare(isShuttingDown, session, signal);
      else early.push(isShuttingDown);
    };
    const opened = await openSession(onPrepare);
    const close = () => opened.close();
    signal.addEventListener('abort', close, { once: true });
    try {
      await this.#ensureDelay(opened);
      // A signal that logind sent before this connection is lost, so the property is read.
      const isPreparing = await opened.isPreparingForShutdown();
      if (!isPreparing) this.#replaceInhibitor(await opened.inhibit(signal));
      session = opened;
      for (const isShuttingDown of [isPreparing, ...early]) this.#onPrepare(isShuttingDown, opened, signal);
      onWatching();
      logger.info('Watching for shutdown events of the node');
      await opened.closed;
      if (!signal.aborted) logger.warn('The connection to logind is lost; it is opened again');
    } finally {
      signal.removeEventListener('abort', close);
      close();
    }
  }

  /** A shorter delay than the pods need is better than none. */
  async #ensureDelay(session: LogindSession): Promise<void> {
    const { periods, clock, logger } = this.#deps;
    const wantedMs = totalMs(periods);
    let currentMs = await session.maxDelayMs();
    if (currentMs >= wantedMs) return;
    try {
      await session.setMaxDelay(wantedMs);
      for (let attempt = 0; attempt < reload.attempts && currentMs < wantedMs; attempt += 1) {
        await clock.sleep(reload.baseMs * reload.factor ** attempt);
        currentMs = await session.maxDelayMs();
      }
      if (currentMs >= wantedMs) return;
      logger.error(
        { currentMs, wantedMs },
        'logind keeps an InhibitDelayMaxSec below shutdownGracePeriod: a shutdown waits no longer for pods',
      );
    } catch (err) {
      const message = 'Unable to override inhibit delay by shutdown manager: a shutdown waits no longer for pods';
      logger.error({ err: messageOf(err), currentMs, wantedMs }, message);
    }
  }

  #onPrepare(isShuttingDown: boolean, session: LogindSession, signal: AbortSignal): void {
    const { state, events, nodeName, logger } = this.#deps;
    if (isShuttingDown === state.isShuttingDown) return;
    logger.info({ event: isShuttingDown ? 'shutdown' : 'cancelled' }, 'Shutdown manager detected new shutdown event');
    const message = `Shutdown manager detected shutdown ${isShuttingDown ? 'event' : 'cancellation'}`;
    events.record({ object: nodeReference(nodeName), type: 'Normal', reason: 'Shutdown', message });
    state.set(isShuttingDown);
    this.#shutdown?.abort();
    this.#shutdown = isShuttingDown ? new AbortController() : null;
    if (this.#shutdown) void this.#endPods(this.#shutdown.signal);
    else void this.#inhibitAgain(session, signal);
  }

  async #inhibitAgain(session: LogindSession, signal: AbortSignal): Promise<void> {
    try {
      this.#replaceInhibitor(await session.inhibit(signal));
    } catch (err) {
      if (!signal.aborted)
        this.#deps.logger.error({ err: messageOf(err) }, 'Could not delay shutdowns of the node again; it is tried again');
      session.close();
    }
  }

  async #endPods(cancelled: AbortSignal): Promise<void> {
    const { periods, activePods, record, clock, logger } = this.#deps;
    const startMs = clock.now();
    logger.info('Shutdown manager processing shutdown event');
    void record?.store({ startMs, endMs: null });
    const groups = contain({ handler: 'node shutdown', logger }, () => groupByPriority(periods, activePods())) ?? [];
    await endPods(groups, { ...this.#deps, logger }, cancelled);
    await record?.store({ startMs, endMs: clock.now() });
    if (cancelled.aborted) return;
    logger.info('Shutdown manager completed processing shutdown event, node will shutdown shortly');
    this.#replaceInhibitor(null);
  }

  #replaceInhibitor(next: Inhibitor | null): void {
    this.#inhibitor?.release();
    this.#inhibitor = next;
  }
}
