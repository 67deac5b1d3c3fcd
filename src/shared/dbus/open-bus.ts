/** Opens a D-Bus connection. The caller learns of every failure: of the connection, of the greeting, and of a later loss of the connection. */
import { createClient, messageType, type ConnectionOptions, type Message, type MessageBus } from 'dbus-native';
import { ServiceOwner } from './service-owner.ts';

/** A signal that a service sends. */
export interface BusSignal {
  /** The well-known name of the service. */
  readonly service: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
}

export interface BusOptions {
  /** The path of the socket. */
  readonly socket: string;
  /** True: the service itself listens at the socket, without a bus in between. */
  readonly isDirect?: boolean;
  readonly timeoutMs: number;
  readonly signal: BusSignal;
  /** Called with the body of each signal that matches `signal` and that the service itself has sent. */
  readonly onSignal: (body: readonly unknown[]) => void;
  readonly onClose: (bus: MessageBus) => void;
}

/** In bytes. Replies of systemd are far smaller. */
const maxMessageSize = 1024 * 1024;

/** The socket of the system bus: of DBUS_SYSTEM_BUS_ADDRESS, as upstream's library, or the usual one. Other transports than unix sockets are not supported. */
export function systemBusSocket(address = process.env['DBUS_SYSTEM_BUS_ADDRESS'] ?? ''): string {
  const [, path] = /(?:^|;)unix:(?:[^;]*,)?path=([^,;]+)/.exec(address) ?? [];
  return path?.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))) ?? '/run/dbus/system_bus_socket';
}

/** Rejects when the socket cannot be connected, or the greeting fails. */
export async function openBus({ socket, isDirect = false, timeoutMs, signal, onSignal, onClose }: BusOptions): Promise<MessageBus> {
  // Without `direct` the library throws the failure of its own Hello where nobody can catch it.
  const options: ConnectionOptions = { socket, direct: true, timeout: timeoutMs, maxMessageSize, authMethods: ['EXTERNAL'] };
  const bus = createClient(options);
  const owner = new ServiceOwner(signal.service);
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {});
  bus.connection.on('error', (err: unknown) => lost.reject(err));
  bus.connection.on('close', () => {
    lost.reject(new Error('the connection was closed'));
    onClose(bus);
  });
  bus.connection.on('message', (message: Message) => {
    owner.onMessage(message);
    if (isSignal(message, signal) && (isDirect || owner.hasSent(message))) onSignal(message.body ?? []);
  });
  try {
    await Promise.race([isDirect ? greetService(bus, signal) : greetBus(bus, owner, signal), lost.promise]);
    return bus;
  } catch (err) {
    bus.connection.stream?.destroy();
    throw err;
  }
}

async function greetService(bus: MessageBus, { service: destination, path }: BusSignal): Promise<void> {
  await bus.invoke({ destination, path, interface: 'org.freedesktop.DBus.Peer', member: 'Ping' });
}

async function greetBus(bus: MessageBus, owner: ServiceOwner, signal: BusSignal): Promise<void> {
  const { service, path, interface: from, member } = signal;
  await bus.invokeDbus({ member: 'Hello' });
  await owner.follow(bus);
  await bus.addMatch(`type='signal',sender='${service}',path='${path}',interface='${from}',member='${member}'`);
}

function isSignal(message: Message, { path, interface: from, member }: BusSignal): boolean {
  return message.type === messageType.signal && message.path === path && message.interface === from && message.member === member;
}
