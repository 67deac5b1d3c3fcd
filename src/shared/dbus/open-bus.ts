/** Opens a D-Bus connection whose failures all reach the caller: of the connection, of the greeting, and later its loss. */
import { createClient, type ConnectionOptions, type Message, type MessageBus } from 'dbus-native';

export interface BusOptions {
  /** The path of the socket. */
  readonly socket: string;
  readonly timeoutMs: number;
  /** The first calls. The connection is usable when they have succeeded. */
  readonly greet: (bus: MessageBus) => PromiseLike<unknown>;
  readonly onMessage: (message: Message) => void;
  readonly onClose: (bus: MessageBus) => void;
}

/** Replies of systemd are far smaller. */
const maxMessageSize = 1024 * 1024;

export const systemBusSocket = '/run/dbus/system_bus_socket';

/** Rejects when the socket cannot be connected, or the greeting fails. */
export async function openBus({ socket, timeoutMs, greet, onMessage, onClose }: BusOptions): Promise<MessageBus> {
  // Without `direct` the library throws the failure of its own Hello where nobody can catch it.
  const options: ConnectionOptions = { socket, direct: true, timeout: timeoutMs, maxMessageSize, authMethods: ['EXTERNAL'] };
  const bus = createClient(options);
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {});
  bus.connection.on('error', (err: unknown) => lost.reject(err));
  bus.connection.on('close', () => {
    lost.reject(new Error('the connection was closed'));
    onClose(bus);
  });
  bus.connection.on('message', onMessage);
  try {
    await Promise.race([greet(bus), lost.promise]);
    return bus;
  } catch (err) {
    bus.connection.stream?.destroy();
    throw err;
  }
}
