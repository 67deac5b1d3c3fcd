/**
 * Calls systemd's manager over D-Bus: starts, changes and stops transient units, and waits for the jobs. One connection, opened with the first
 * call and again after it was lost. Each call and each job has a deadline. Upstream: coreos/go-systemd and
 * github.com/opencontainers/cgroups/systemd/common.go.
 */
import { Variant, type Message, type MessageBus } from 'dbus-native';
import { openBus, systemBusSocket } from '../../../../shared/dbus/open-bus.ts';
import { messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { Clock } from '../../../../shared/time/clock.ts';
import type { Logger } from '../../../../shared/log/logger.ts';
import { JobWaits } from './job-waits.ts';
import type { UnitProperty } from './unit-properties.ts';

export interface SystemdClientOptions {
  /** In order of preference. Default: the system bus, then systemd's own socket, as go-systemd. */
  readonly sockets?: readonly SystemdSocket[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: 5 s. */
  readonly callTimeoutMs?: number;
  /** Default: 30 s, as in libcontainer's startUnit. */
  readonly jobTimeoutMs?: number;
}

export interface SystemdSocket {
  readonly path: string;
  /** True: systemd itself, without a bus in between. */
  readonly direct: boolean;
}

const defaultSockets: readonly SystemdSocket[] = [
  { path: systemBusSocket(), direct: false },
  { path: '/run/systemd/private', direct: true },
];
const destination = 'org.freedesktop.systemd1';
const path = '/org/freedesktop/systemd1';
const managerInterface = 'org.freedesktop.systemd1.Manager';

/** The failure of a call to systemd. */
export class SystemdError extends Error {
  /** The name of systemd's error reply, such as `org.freedesktop.systemd1.UnitExists`. Empty when there is no reply. */
  readonly dbusName: string;

  constructor(message: string, dbusName: string) {
    super(message);
    this.dbusName = dbusName;
  }
}

export class SystemdClient {
  readonly #options: SystemdClientOptions;
  readonly #jobs: JobWaits;
  #bus: Promise<MessageBus> | undefined;
  /** The result of `#bus`. */
  #connected: MessageBus | undefined;
  #version: number | undefined;

  constructor(options: SystemdClientOptions) {
    this.#options = options;
    this.#jobs = new JobWaits(options.clock, options.jobTimeoutMs ?? 30_000);
  }

  /** Starts a transient slice and waits until it is active. Returns false if a unit of this name exists. */
  async startTransientUnit(name: string, properties: readonly UnitProperty[]): Promise<boolean> {
    const body = [name, 'replace', toBody(properties), []];
    try {
      await this.#jobs.run(name, () => this.#call<string>('StartTransientUnit', 'ssa(sv)a(sa(sv))', body));
      return true;
    } catch (err) {
      if (isReply(err, 'UnitExists')) return false;
      throw err;
    }
  }

  /** Starts a loaded unit and waits until it is active. Cancels a stop job of the unit that has not run yet. */
  async startUnit(name: string): Promise<void> {
    await this.#jobs.run(name, () => this.#call<string>('StartUnit', 'ss', [name, 'replace']));
  }

  /** Returns whether systemd has a waiting or running job that stops the slice, or a scope in the slice. */
  async isStopping(slice: string): Promise<boolean> {
    type Job = [id: number, unit: string, type: string, state: string, jobPath: string, unitPath: string];
    const stops = (await this.#call<readonly Job[]>('ListJobs', '', [])).filter(([, , type]) => type === 'stop');
    if (stops.some(([, unit]) => unit === slice)) return true;
    for (const [, unit, , , , unitPath] of stops) {
      if (unit.endsWith('.scope') && (await this.#sliceOfScope(unitPath)) === slice) return true;
    }
    return false;
  }

  /** Returns undefined when the scope has ended. */
  async #sliceOfScope(unitPath: string): Promise<unknown> {
    return this.#get(unitPath, 'org.freedesktop.systemd1.Scope', 'Slice').catch((err: unknown) => {
      if (!(err instanceof SystemdError) || err.dbusName === '') throw err;
    });
  }

  /** Sets properties of a loaded unit until the unit is stopped (`runtime` is true). They survive a reload of systemd. */
  async setUnitProperties(name: string, properties: readonly UnitProperty[]): Promise<void> {
    await this.#call('SetUnitProperties', 'sba(sv)', [name, true, toBody(properties)]);
  }

  /** Stops a unit and waits until it is inactive. Succeeds when there is no such unit. */
  async stopUnit(name: string): Promise<void> {
    try {
      await this.#jobs.run(name, () => this.#call<string>('StopUnit', 'ss', [name, 'replace']));
    } catch (err) {
      if (!isReply(err, 'NoSuchUnit')) throw err;
    }
  }

  /** Lets systemd forget a failed unit. Succeeds when it is not loaded. */
  async resetFailedUnit(name: string): Promise<void> {
    await this.#call('ResetFailedUnit', 's', [name]).catch((err: unknown) => {
      if (!isReply(err, 'NoSuchUnit')) throw err;
    });
  }

  /** The major version, or 0 when it is unknown. */
  async version(): Promise<number> {
    if (this.#version !== undefined) return this.#version;
    const text = await this.#get(path, managerInterface, 'Version');
    return (this.#version = Number(/\d+/.exec(String(text))?.[0] ?? 0));
  }

  close(): void {
    if (this.#connected) this.#forget(this.#connected);
  }

  #get(object: string, ofInterface: string, property: string): Promise<unknown> {
    const target = { path: object, interface: 'org.freedesktop.DBus.Properties' };
    return this.#call('Get', 'ss', [ofInterface, property], target);
  }

  async #call<T>(member: string, signature: string, body: unknown[], target = { path, interface: managerInterface }): Promise<T> {
    const message: Message = { destination, ...target, member, signature, body };
    const bus = await this.#connect();
    try {
      return await bus.invoke<T>(message, { timeout: this.#options.callTimeoutMs ?? 5_000 });
    } catch (err) {
      const { dbusName, name } = err as { dbusName?: string; name?: string };
      // An error reply leaves the connection usable. Without a reply, the next call connects again.
      if (name !== 'DBusError' || dbusName === undefined) this.#forget(bus);
      throw new SystemdError(`systemd: ${member} ${String(body[0])}: ${messageOf(err)}`, dbusName ?? '');
    }
  }

  #connect(): Promise<MessageBus> {
    return (this.#bus ??= this.#connectToAny().catch((err: unknown) => {
      this.#bus = undefined;
      throw err;
    }));
  }

  async #connectToAny(): Promise<MessageBus> {
    const failures: string[] = [];
    for (const socket of this.#options.sockets ?? defaultSockets) {
      try {
        return await this.#connectTo(socket);
      } catch (err) {
        failures.push(`${socket.path}: ${messageOf(err)}`);
      }
    }
    throw new SystemdError(`failed to connect to dbus: ${failures.join('; ')}`, '');
  }

  async #connectTo({ path: socket, direct: isDirect }: SystemdSocket): Promise<MessageBus> {
    const bus = await openBus({
      socket,
      isDirect,
      timeoutMs: this.#options.callTimeoutMs ?? 5_000,
      signal: { service: destination, path, interface: managerInterface, member: 'JobRemoved' },
      onSignal: (body) => this.#jobs.onJobRemoved(body),
      onClose: (closed) => this.#forget(closed),
    });
    return (this.#connected = bus);
  }

  /** A job whose end can no longer be received fails now, instead of at its deadline. */
  #forget(bus: MessageBus): void {
    bus.connection.stream?.destroy();
    if (this.#connected !== bus) return;
    this.#connected = undefined;
    this.#bus = undefined;
    this.#jobs.fail(new SystemdError('the connection to systemd was lost', ''));
  }
}

function toBody(properties: readonly UnitProperty[]): [string, Variant][] {
  return properties.map(([name, type, value]) => [name, new Variant(type, type === 'ay' ? Buffer.from(value) : value)]);
}

function isReply(err: unknown, name: string): boolean {
  return err instanceof SystemdError && err.dbusName.endsWith(`.${name}`);
}
