/** Reloads the configuration on request, one reload at a time: a request during a reload causes one more. Nothing is applied unless everything is valid. */
import { contain } from '../../shared/faults/contain.ts';
import { nodeReference } from '../../shared/kubernetes/node-reference.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { configReloads } from '../../shared/metrics/definitions/config-reload.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import type { LiveConfiguration } from '../config/live-configuration.ts';
import type { EventSink } from '../events/index.ts';
import { computeReload } from './compute-reload.ts';
import type { LoaderReply } from './loader-thread.ts';

/** The service manager, which waits for the reload that it asked for. */
export interface ReloadObserver {
  reloading(): void;
  /** No reload is under way or requested. */
  reloaded(): void;
}

export interface ConfigReloadOptions {
  readonly live: LiveConfiguration;
  readonly load: () => Promise<LoaderReply>;
  /** Why the kubelet could not start with this configuration on this machine. Null: it could. */
  readonly refuse: (wanted: KubeletConfiguration) => string | null;
  /** Hands the new values to the parts that keep copies. Must not throw for a valid configuration. */
  readonly apply: (changed: ReadonlySet<string>) => void;
  readonly observer: ReloadObserver;
  readonly nodeName: string;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** SIGHUP is answered in the log whatever happens; a watched file may be written without a change. */
export type ReloadCause = 'SIGHUP' | 'file';

/** The limit of an event's message is 1024 bytes. */
const maxMessageLength = 900;

export class ConfigReload {
  readonly #options: ConfigReloadOptions;
  #requested: ReloadCause | null = null;
  #isRunning = false;
  #isClosed = false;
  /** The last reported failure. Not repeated for a file that is written again and again. */
  #failure = '';
  /** The last reported fields that need a restart. */
  #needsRestart: readonly string[] = [];

  constructor(options: ConfigReloadOptions) {
    this.#options = options;
  }

  request(cause: ReloadCause): void {
    if (this.#isClosed) return;
    if (cause === 'SIGHUP') this.#options.observer.reloading();
    if (this.#requested !== 'SIGHUP') this.#requested = cause;
    if (!this.#isRunning) void this.#run();
  }

  close(): void {
    this.#isClosed = true;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#requested !== null && !this.#isClosed) {
      const cause = this.#requested;
      this.#requested = null;
      const reply = await this.#options.load();
      if (!this.#isClosed) contain({ handler: 'config-reload', logger: this.#options.logger }, () => this.#onLoaded(reply, cause));
    }
    this.#isRunning = false;
    this.#options.observer.reloaded();
  }

  #onLoaded(reply: LoaderReply, cause: ReloadCause): void {
    const { live, apply, refuse, logger } = this.#options;
    if ('error' in reply) return this.#onFailed(reply.error, cause);
    const refusal = refuse(reply.config);
    if (refusal !== null) return this.#onFailed(refusal, cause);
    this.#failure = '';
    const { config, applied, needsRestart } = computeReload(live.running, reply.config);
    if (applied.length > 0) {
      live.set(config);
      apply(new Set(applied));
      logger.info({ cause, fields: applied }, 'Applied the changed configuration');
      this.#record('Normal', 'ConfigurationReloaded', `Applied ${applied.join(', ')}`);
    } else if (cause === 'SIGHUP') logger.info({ cause }, 'No field of the configuration that can change without a restart has changed');
    this.#reportRestart(needsRestart, cause);
    this.#end(applied.length > 0 ? 'applied' : 'unchanged');
  }

  #reportRestart(needsRestart: readonly string[], cause: ReloadCause): void {
    const isNew = needsRestart.some((field) => !this.#needsRestart.includes(field));
    this.#needsRestart = needsRestart;
    if (needsRestart.length === 0 || (!isNew && cause === 'file')) return;
    this.#options.logger.warn({ cause, fields: needsRestart }, 'These fields of the configuration take effect when the kubelet restarts');
    if (isNew)
      this.#record('Warning', 'ConfigurationNeedsRestart', `Changes take effect when the kubelet restarts: ${needsRestart.join(', ')}`);
  }

  #onFailed(error: string, cause: ReloadCause): void {
    if (error !== this.#failure || cause === 'SIGHUP')
      this.#options.logger.error({ cause, err: error }, 'Could not reload the configuration; the running one stays in force');
    if (error !== this.#failure) this.#record('Warning', 'ConfigurationReloadFailed', `The running configuration stays in force: ${error}`);
    this.#failure = error;
    this.#end('failed', error);
  }

  #end(outcome: 'applied' | 'unchanged' | 'failed', error?: string): void {
    configReloads.inc({ outcome });
    const time = new Date(this.#options.clock.now()).toISOString();
    this.#options.live.setReloadStatus({ time, outcome, ...(error !== undefined && { error }), needsRestart: this.#needsRestart });
  }

  #record(type: 'Normal' | 'Warning', reason: string, text: string): void {
    const { events, nodeName } = this.#options;
    const message = text.length > maxMessageLength ? `${text.slice(0, maxMessageLength)}…` : text;
    events.record({ object: nodeReference(nodeName), type, reason, message });
  }
}
