/**
 * Brings the registered plugins in line with the sockets: one operation for each socket at a time, repeated after a failure. Upstream waits up to two minutes then; here
 * the delay stays short, and a plugin that was removed makes others try again.
 */
import type { PluginInfo, PluginsApi } from '../../shared/contracts/plugins.ts';
import { KeyedWorkQueue } from '../../shared/concurrency/keyed-work-queue.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { SocketWatch } from './socket-watch.ts';

/** Plugins of one type. */
export interface PluginHandler {
  /** Returns why the plugin can't be registered, or null. */
  validate(plugin: PluginInfo): string | null;
  /** Idempotent. Rejects with an Error for the plugin. */
  register(plugin: PluginInfo): Promise<void>;
  /** Called when the plugin is gone. Ignores a plugin that another one of the same name has replaced. Idempotent. */
  deregister(plugin: PluginInfo): Promise<void>;
}

export interface PluginManagerOptions {
  readonly folder: string;
  /** By the plugins' type. */
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  readonly calls: Pick<PluginsApi, 'getInfo' | 'notifyRegistrationStatus'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1). */
  readonly random?: () => number;
}

interface RegisteredPlugin {
  readonly socket: string;
  readonly info: PluginInfo;
  readonly handler: PluginHandler;
}

const backoff = { initialMs: 100, maxMs: 1000 };
/** After a refusal only a change helps, of the plugin's socket or of the other plugins. */
const refusedRetryMs = 2 * 60_000;
/** The number of plugins that are registered at a time. */
const parallel = 16;

class RefusedPluginError extends Error {}

export class PluginManager {
  readonly #options: PluginManagerOptions;
  readonly #queue: KeyedWorkQueue<string>;
  readonly #watch: SocketWatch;
  /** By path: the identity of the socket that is there. */
  #sockets: ReadonlyMap<string, string> = new Map();
  /** By path of the socket. */
  readonly #registered = new Map<string, RegisteredPlugin>();

  constructor(options: PluginManagerOptions) {
    const { folder, clock, logger, random = Math.random } = options;
    this.#options = options;
    this.#queue = new KeyedWorkQueue<string>({
      work: (path) => this.#reconcile(path),
      onError: (path, err, retryAfterMs) => logger.warn({ path, err: messageOf(err), retryAfterMs }, 'Could not register a plugin'),
      retryAfterMs: (err) => (err instanceof RefusedPluginError ? refusedRetryMs : undefined),
      parallel,
      backoff,
      clock,
      random,
    });
    this.#watch = new SocketWatch({ folder, onSockets: (sockets) => this.#onSockets(sockets), clock, logger });
  }

  async close(): Promise<void> {
    await this.#watch.close();
    await this.#queue.close();
  }

  #onSockets(sockets: ReadonlyMap<string, string>): void {
    const previous = this.#sockets;
    this.#sockets = sockets;
    for (const path of new Set([...previous.keys(), ...sockets.keys()])) {
      if (previous.get(path) === sockets.get(path)) continue;
      // A new socket does not wait for the back-off of the one before.
      this.#queue.forget(path);
      this.#queue.enqueue(path);
    }
  }

  async #reconcile(path: string): Promise<void> {
    const socket = this.#sockets.get(path);
    const registered = this.#registered.get(path);
    if (registered && registered.socket !== socket) {
      this.#registered.delete(path);
      await registered.handler.deregister(registered.info);
      this.#options.logger.info({ plugin: registered.info.name, path }, 'Plugin deregistered');
      this.#queue.resetBackoff();
    }
    if (socket !== undefined && registered?.socket !== socket) await this.#register(path, socket);
    // The socket may have changed meanwhile, while the key was forgotten.
    if (this.#sockets.get(path) !== socket) this.#queue.enqueue(path);
  }

  async #register(path: string, socket: string): Promise<void> {
    const { calls, handlers, logger } = this.#options;
    const reply = await calls.getInfo(path);
    if (reply.outcome === 'failed')
      throw new Error(`RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket ${path}, err: ${reply.message}`);
    const info = reply.info.endpoint === '' ? { ...reply.info, endpoint: path } : reply.info;
    const handler = handlers.get(info.type);
    if (!handler)
      return this.#refuse(path, `RegisterPlugin error -- no handler registered for plugin type: ${info.type} at socket ${path}`);
    const problem = handler.validate(info);
    if (problem !== null) return this.#refuse(path, `RegisterPlugin error -- plugin validation failed with err: ${problem}`);
    try {
      await handler.register(info);
    } catch (err) {
      const message = `RegisterPlugin error -- plugin registration failed with err: ${messageOf(err)}`;
      await calls.notifyRegistrationStatus(path, { registered: false, error: message });
      throw new Error(message, { cause: err });
    }
    this.#registered.set(path, { socket, info, handler });
    const failure = await calls.notifyRegistrationStatus(path, { registered: true, error: '' });
    if (failure !== null) {
      this.#registered.delete(path);
      await handler.deregister(info);
      throw new Error(`RegisterPlugin error -- failed to send registration status at socket ${path}, err: ${failure}`);
    }
    logger.info({ plugin: info.name, type: info.type, endpoint: info.endpoint }, 'Plugin registered');
  }

  async #refuse(path: string, message: string): Promise<never> {
    await this.#options.calls.notifyRegistrationStatus(path, { registered: false, error: message });
    throw new RefusedPluginError(message);
  }
}
