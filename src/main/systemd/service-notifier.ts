/** Sends the kubelet's state to the service manager that started it: readiness, reloads, the end, and signs of life for the watchdog. */
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { HealthCheck } from '../../shared/health/health.ts';
import { healthChecks } from '../../shared/health/health.ts';
import { sendDatagram } from '../../shared/linux/send-datagram.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { HeartbeatsReader } from '../../shared/state/heartbeats.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { watchdogTimeoutMs } from './watchdog-interval.ts';
import { Watchdog } from './watchdog.ts';

export interface ServiceNotifierOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** Throws when the datagram cannot be sent. */
  readonly send?: (socket: string, state: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ServiceNotifier {
  readonly #socket: string;
  readonly #send: (socket: string, state: string) => void;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #watchdog: Watchdog | null;
  #heartbeats: HeartbeatsReader | null = null;
  #state: 'starting' | 'ready' | 'reloading' | 'stopping' = 'starting';

  private constructor({ env, send = sendDatagram, clock, logger }: ServiceNotifierOptions, timeoutMs: number | null) {
    this.#socket = env['NOTIFY_SOCKET'] ?? '';
    this.#send = send;
    this.#clock = clock;
    this.#logger = logger;
    this.#watchdog =
      timeoutMs === null
        ? null
        : new Watchdog({ timeoutMs, checks: () => this.#checks(), notify: (state) => this.#notifyWatchdog(state), clock, logger });
  }

  /** Starts the watchdog's notifications. Throws for watchdog settings that are not valid. */
  static start(options: ServiceNotifierOptions): ServiceNotifier {
    const { env, pid, logger } = options;
    let timeoutMs: number | null;
    try {
      timeoutMs = watchdogTimeoutMs(env, pid);
    } catch (err) {
      throw new Error(`create health checker: ${messageOf(err)}`, { cause: err });
    }
    const notifier = new ServiceNotifier(options, timeoutMs);
    if (timeoutMs === null) logger.debug('Systemd watchdog is not enabled');
    else logger.info({ intervalMs: timeoutMs / 2 }, 'Starting systemd watchdog with interval');
    notifier.#watchdog?.start();
    return notifier;
  }

  /** The watchdog's notifications depend on the threads' health from now on. */
  followThreads(heartbeats: SharedArrayBuffer): void {
    this.#heartbeats = new HeartbeatsReader(heartbeats);
  }

  /** Called when everything has started. */
  ready(): void {
    if (this.#state === 'stopping') return;
    this.#state = 'ready';
    this.#notify('READY=1');
  }

  /** Called when a reload begins, for which the service manager may wait. Each call is reported, because its time must be later than the request's. */
  reloading(): void {
    if (this.#state !== 'ready' && this.#state !== 'reloading') return;
    this.#state = 'reloading';
    this.#notify(`RELOADING=1\nMONOTONIC_USEC=${Math.floor(this.#clock.monotonic() * 1000)}`);
  }

  /** Called when the last reload has ended. Has no effect when no reload was reported. */
  reloaded(): void {
    if (this.#state === 'reloading') this.ready();
  }

  /** Called when the kubelet ends. */
  stopping(): void {
    this.#state = 'stopping';
    this.#notify('STOPPING=1');
  }

  close(): void {
    this.#watchdog?.stop();
  }

  #checks(): readonly HealthCheck[] {
    return this.#heartbeats ? healthChecks(this.#heartbeats.threads(), this.#clock.monotonic(), '') : [];
  }

  #notifyWatchdog(state: string): void {
    if (this.#socket === '')
      throw new Error('failed to notify systemd watchdog, notification not supported - (i.e. NOTIFY_SOCKET is unset)');
    this.#send(this.#socket, state);
  }

  /** Without a service manager there is nobody to notify. */
  #notify(state: string): void {
    if (this.#socket === '') return;
    try {
      this.#send(this.#socket, state);
    } catch (err) {
      this.#logger.warn({ err: messageOf(err), state }, 'Could not notify the service manager');
    }
  }
}
