/**
 * The connection to logind: its signals of a shutdown, its delay, and the lock that delays a shutdown. A session ends with its D-Bus connection; the manager opens
 * another one. Upstream: pkg/kubelet/nodeshutdown/systemd.
 */
import { mkdir } from 'node:fs/promises';
import type { MessageBus } from 'dbus-native';
import { openBus, systemBusSocket } from '../../shared/dbus/open-bus.ts';
import { writeDurably } from '../../shared/linux/write-durably.ts';
import { logind } from './logind-names.ts';
import { takeInhibitor, type Inhibitor } from './take-inhibitor.ts';

export interface LogindSession {
  /** Resolves when the connection is lost or closed. */
  readonly closed: Promise<void>;
  readonly maxDelayMs: () => Promise<number>;
  /** Writes logind's configuration and lets logind read it, which takes effect later. */
  readonly setMaxDelay: (ms: number) => Promise<void>;
  readonly isPreparingForShutdown: () => Promise<boolean>;
  readonly inhibit: (signal: AbortSignal) => Promise<Inhibitor>;
  readonly close: () => void;
}

const callTimeoutMs = 5000;
const overrideFolder = '/etc/systemd/logind.conf.d';
const overrideFile = `${overrideFolder}/99-kubelet.conf`;
const SIGHUP = 1;

/** @param onPrepare called with logind's signals: true at the start of a shutdown, false when it was cancelled */
export async function openLogindSession(onPrepare: (isShuttingDown: boolean) => void, socket = systemBusSocket()): Promise<LogindSession> {
  const closed = Promise.withResolvers<void>();
  const bus = await openBus({
    socket,
    timeoutMs: callTimeoutMs,
    signal: { service: logind.service, path: logind.path, interface: logind.managerInterface, member: 'PrepareForShutdown' },
    onSignal: ([isShuttingDown]) => {
      if (typeof isShuttingDown === 'boolean') onPrepare(isShuttingDown);
    },
    onClose: () => closed.resolve(),
  });
  return {
    closed: closed.promise,
    maxDelayMs: async () => Number(await readProperty(bus, 'InhibitDelayMaxUSec')) / 1000,
    setMaxDelay: async (ms) => {
      await mkdir(overrideFolder, { recursive: true, mode: 0o755 });
      await writeDurably(overrideFile, `${overrideFolder}/.99-kubelet.conf.tmp`, overrideText(ms), 0o644);
      await reload(bus);
    },
    isPreparingForShutdown: async () => (await readProperty(bus, 'PreparingForShutdown')) === true,
    inhibit: (signal) => takeInhibitor(socket, callTimeoutMs, signal),
    close: () => bus.connection.stream?.destroy(),
  };
}

/** Upstream's file, with whole seconds. */
export function overrideText(ms: number): string {
  return `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${Math.round(ms / 1000)}\n`;
}

async function readProperty(bus: MessageBus, name: string): Promise<unknown> {
  const { service: destination, path, managerInterface } = logind;
  return bus.invoke({
    destination,
    path,
    interface: 'org.freedesktop.DBus.Properties',
    member: 'Get',
    signature: 'ss',
    body: [managerInterface, name],
  });
}

async function reload(bus: MessageBus): Promise<void> {
  await bus.invoke({
    destination: 'org.freedesktop.systemd1',
    path: '/org/freedesktop/systemd1',
    interface: 'org.freedesktop.systemd1.Manager',
    member: 'KillUnit',
    signature: 'ssi',
    body: ['systemd-logind.service', 'all', SIGHUP],
  });
}
