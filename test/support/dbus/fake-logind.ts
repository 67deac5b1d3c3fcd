/**
 * A D-Bus system bus with nothing but logind, at a socket of its own, for hosts without systemd:
 *
 *   const logind = await FakeLogind.start(folder);
 *   // DBUS_SYSTEM_BUS_ADDRESS: logind.address
 *   logind.announce(true);
 *   await logind.released;
 */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { createServer, Socket, type Server } from 'node:net';
import { join } from 'node:path';
import { messageType, type Message } from 'dbus-native';
import { marshall, unmarshall } from 'dbus-native/lib/message.js';
import { logind as names } from '../../../src/main/node-shutdown/logind-names.ts';
import { messageLength } from '../../../src/main/node-shutdown/take-inhibitor.ts';
import { sendWithDescriptors } from './send-with-descriptors.ts';

const owner = ':1.0';
/** The kubelet changes a shorter one. */
const maxDelaySeconds = 600;

export class FakeLogind {
  readonly address: string;
  /** Resolves with the time at which the lock was released: epoch ms. */
  readonly released: Promise<number>;
  /** How often the lock was taken. */
  locks = 0;
  readonly #fifo: string;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  readonly #release: (atMs: number) => void;
  #isPreparing = false;

  private constructor(folder: string) {
    this.#fifo = join(folder, 'inhibitor');
    execFileSync('mkfifo', [this.#fifo]);
    ({ promise: this.released, resolve: this.#release } = Promise.withResolvers<number>());
    this.#server = createServer((socket) => this.#connections.add(new Connection(socket, (message) => this.#answer(message))));
    this.address = `unix:path=${join(folder, 'system_bus_socket')}`;
  }

  static async start(folder: string): Promise<FakeLogind> {
    const logind = new FakeLogind(folder);
    await new Promise<void>((resolve) => logind.#server.listen(logind.address.replace('unix:path=', ''), resolve));
    return logind;
  }

  announce(isShuttingDown: boolean): void {
    this.#isPreparing = isShuttingDown;
    const { path, managerInterface } = names;
    const fields = { path, interface: managerInterface, member: 'PrepareForShutdown', sender: owner, signature: 'b' };
    for (const connection of this.#connections) connection.send({ type: messageType.signal, ...fields, body: [isShuttingDown] });
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
    this.#server.close();
  }

  #answer({ member, body = [] }: Message): Answer {
    if (member === 'Hello') return { signature: 's', body: [':1.7'] };
    if (member === 'GetNameOwner') return { signature: 's', body: [owner] };
    if (member === 'Inhibit') return { signature: 'h', body: [0], descriptor: this.#lock() };
    if (member === 'Get')
      return { signature: 'v', body: [body[1] === 'InhibitDelayMaxUSec' ? ['t', maxDelaySeconds * 1e6] : ['b', this.#isPreparing]] };
    return {};
  }

  /** The lock is one end of a pipe, as logind's. */
  #lock(): number {
    this.locks += 1;
    const reader = new Socket({ fd: openSync(this.#fifo, constants.O_RDONLY | constants.O_NONBLOCK) });
    reader.once('close', () => this.#release(Date.now())).resume();
    return openSync(this.#fifo, constants.O_WRONLY);
  }
}

type Answer = Pick<Message, 'signature' | 'body'> & { readonly descriptor?: number };

/** The greeting in lines of text, then messages. */
class Connection {
  readonly #socket: Socket;
  readonly #answer: (call: Message) => Answer;
  #received: Buffer = Buffer.alloc(0);
  #isGreeted = false;
  #serial = 0;

  constructor(socket: Socket, answer: (call: Message) => Answer) {
    this.#socket = socket;
    this.#answer = answer;
    socket.on('error', () => {});
    socket.on('data', (data: Buffer) => {
      this.#received = Buffer.concat([this.#received, data]);
      this.#greet();
      if (this.#isGreeted) this.#read();
    });
  }

  send(message: Message): void {
    this.#socket.write(marshall({ ...message, serial: (this.#serial += 1) }));
  }

  close(): void {
    this.#socket.destroy();
  }

  #greet(): void {
    for (let end = this.#received.indexOf('\r\n'); !this.#isGreeted && end >= 0; end = this.#received.indexOf('\r\n')) {
      const line = this.#received.subarray(0, end).toString('latin1');
      this.#received = this.#received.subarray(end + 2);
      if (line.startsWith('\0AUTH EXTERNAL')) this.#socket.write('OK 0123456789abcdef\r\n');
      else if (line === 'NEGOTIATE_UNIX_FD') this.#socket.write('AGREE_UNIX_FD\r\n');
      else if (line === 'BEGIN') this.#isGreeted = true;
    }
  }

  #read(): void {
    for (let length = messageLength(this.#received); this.#received.length >= length; length = messageLength(this.#received)) {
      const call = unmarshall(this.#received.subarray(0, length));
      this.#received = this.#received.subarray(length);
      const { descriptor, ...fields } = this.#answer(call);
      const reply = { type: messageType.methodReturn, replySerial: call.serial, ...fields };
      if (descriptor === undefined) this.send(reply);
      else {
        sendWithDescriptors(this.#socket, marshall({ ...reply, serial: (this.#serial += 1), fds: [descriptor] }), [descriptor]);
        closeSync(descriptor);
      }
    }
  }
}
