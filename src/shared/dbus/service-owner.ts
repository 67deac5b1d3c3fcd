/**
 * Tracks which connection owns a service's name on the bus. A match rule filters broadcasts only: every local user may send a signal with any path, interface
 * and member directly to a connection, so the sender of each signal is compared with the owner. The bus itself writes the sender.
 */
import type { Message, MessageBus } from 'dbus-native';

const busName = 'org.freedesktop.DBus';

export class ServiceOwner {
  readonly #service: string;
  /** The unique name, such as `:1.4`; undefined while nobody owns the service's name. */
  #owner: string | undefined;
  /** The number of changes of the owner that the bus has reported. */
  #changes = 0;

  constructor(service: string) {
    this.#service = service;
  }

  /** Rejects when the bus does not answer. */
  async follow(bus: MessageBus): Promise<void> {
    const rule = `type='signal',sender='${busName}',interface='${busName}',member='NameOwnerChanged',arg0='${this.#service}'`;
    await bus.addMatch(rule);
    const changesBefore = this.#changes;
    const owner = await bus.invokeDbus<string>({ member: 'GetNameOwner', signature: 's', body: [this.#service] }).catch(toNoOwner);
    // A change that was read before the reply is newer than the reply.
    if (this.#changes === changesBefore) this.#owner = owner;
  }

  /** Receives all messages of the connection. */
  onMessage({ sender, interface: from, member, body = [] }: Message): void {
    const [name, , owner] = body;
    if (sender !== busName || from !== busName || member !== 'NameOwnerChanged' || name !== this.#service) return;
    this.#changes += 1;
    this.#owner = typeof owner === 'string' && owner !== '' ? owner : undefined;
  }

  /** Whether the owner of the service's name has sent the message. */
  hasSent({ sender }: Message): boolean {
    return sender !== undefined && sender === this.#owner;
  }
}

function toNoOwner(err: unknown): undefined {
  if ((err as { dbusName?: string }).dbusName !== `${busName}.Error.NameHasNoOwner`) throw err;
}
