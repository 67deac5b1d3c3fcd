/** A systemd for tests: answers the calls of its manager on a socket of its own, without a bus, and keeps the properties of units. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection, messageType, type Message } from 'dbus-native';

type Connection = ReturnType<typeof createConnection>;

export class FakeSystemd {
  readonly #folder = mkdtempSync(join(tmpdir(), 'systemd-'));
  readonly socket = { path: join(this.#folder, 'private'), direct: true };
  /** The properties of each loaded unit. */
  readonly units = new Map<string, Record<string, unknown>>();
  readonly calls: string[] = [];
  /** The result of the next jobs. `never`: no signal. */
  jobResult = 'done';
  /** True: calls get no reply. */
  isHung = false;
  /** Units with a job that stops them, each with the slice that it is in. */
  readonly stopping = new Map<string, string>();
  /** Loaded units that are not active: they are stopped and still referenced. */
  readonly inactive = new Set<string>();
  /** Called before a unit is started. */
  onStart: (unit: string) => void = () => {};
  #server: Server | undefined;
  readonly #connections = new Set<Connection>();
  #jobs = 0;

  async listen(): Promise<this> {
    this.#server = createServer((stream) => {
      const connection = createConnection({ stream, server: true });
      this.#connections.add(connection);
      connection.on('error', () => {});
      connection.on('close', () => this.#connections.delete(connection));
      connection.on('message', (message: Message) => this.#answer(connection, message));
    });
    await new Promise<void>((resolve) => this.#server?.listen(this.socket.path, resolve));
    return this;
  }

  /** Closes all connections and the socket, as systemd does when it executes itself again. */
  async stop(): Promise<void> {
    for (const connection of this.#connections) connection.stream?.destroy();
    await new Promise<void>((resolve) => (this.#server ? this.#server.close(() => resolve()) : resolve()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #sliceOf(path: string | undefined): string | undefined {
    return [...this.stopping].find(([name]) => unitPath(name) === path)?.[1];
  }

  #answer(connection: Connection, message: Message): void {
    const [unit = ''] = (message.body ?? []) as [string?];
    this.calls.push(`${message.member} ${unit}`.trim());
    if (this.isHung) return;
    const reply = (signature?: string, body?: unknown[]) =>
      connection.message({
        type: messageType.methodReturn,
        serial: 1,
        replySerial: message.serial!,
        ...(signature && body ? { signature, body } : {}),
      });
    const fail = (name: string) =>
      connection.message({
        type: messageType.error,
        serial: 1,
        replySerial: message.serial!,
        errorName: `org.freedesktop.systemd1.${name}`,
        signature: 's',
        body: [name],
      });
    const runJob = () => {
      const job = `/org/freedesktop/systemd1/job/${(this.#jobs += 1)}`;
      reply('o', [job]);
      if (this.jobResult === 'never') return;
      const body = [this.#jobs, job, unit, this.jobResult];
      connection.message({
        type: messageType.signal,
        serial: 1,
        path: '/org/freedesktop/systemd1',
        interface: 'org.freedesktop.systemd1.Manager',
        member: 'JobRemoved',
        signature: 'uoss',
        body,
      });
    };
    switch (message.member ?? '') {
      case 'Get':
        return void reply('v', [['s', this.#sliceOf(message.path) ?? '252 (252.1-1)']]);
      case 'StartTransientUnit': {
        if (this.units.has(unit)) return void fail('UnitExists');
        this.onStart(unit);
        this.units.set(unit, Object.fromEntries((message.body as [string, string, [string, unknown][]])[2]));
        return runJob();
      }
      case 'StartUnit': {
        if (!this.units.has(unit)) return void fail('NoSuchUnit');
        if (this.inactive.delete(unit)) this.onStart(unit);
        return runJob();
      }
      case 'SetUnitProperties': {
        Object.assign(this.units.get(unit) ?? {}, Object.fromEntries((message.body as [string, boolean, [string, unknown][]])[2]));
        return void reply();
      }
      case 'ListJobs': {
        const jobs = [...this.stopping.keys()].map((name) => [
          1,
          name,
          'stop',
          'waiting',
          '/org/freedesktop/systemd1/job/1',
          unitPath(name),
        ]);
        return void reply('a(usssoo)', [jobs]);
      }
      case 'StopUnit':
        this.stopping.delete(unit);
        return this.units.delete(unit) ? runJob() : void fail('NoSuchUnit');
      case 'ResetFailedUnit':
        return void fail('NoSuchUnit');
      default:
        return void reply();
    }
  }
}

function unitPath(name: string): string {
  return `/unit/${name.replaceAll(/\W/g, '_')}`;
}
