/** Datagrams to Unix sockets, as systemd receives notifications. Node has none, so the receiver is the kernel's own calls. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import koffi from 'koffi';
import { sendDatagram, toAddress } from '../../../src/shared/linux/send-datagram.ts';

const folder = mkdtempSync(join(tmpdir(), 'send-datagram-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const libc = koffi.load(null);
const socket = libc.func('int socket(int family, int type, int protocol)');
const bind = libc.func('int bind(int fd, const void *address, unsigned int length)');
const recv = libc.func('intptr_t recv(int fd, void *data, size_t length, int flags)');
const close = libc.func('int close(int fd)');
const nonBlocking = 0x40;

class Receiver {
  readonly #fd: number;

  constructor(path: string) {
    const address = toAddress(path);
    this.#fd = socket(1, 2, 0) as number;
    assert.equal(bind(this.#fd, address, address.length), 0, `bind ${path}`);
  }

  /** The next datagram; null when there is none. */
  next(): string | null {
    const data = Buffer.alloc(4096);
    const length = recv(this.#fd, data, data.length, nonBlocking) as number;
    return length < 0 ? null : data.toString('utf8', 0, length);
  }

  close(): void {
    close(this.#fd);
  }
}

for (const [kind, path] of [
  ['a path', join(folder, 'notify')],
  ['the abstract namespace', `@kubelet-test-${process.pid}`],
] as const) {
  test(`a datagram reaches a socket in ${kind}`, () => {
    const receiver = new Receiver(path);
    try {
      sendDatagram(path, 'READY=1');
      assert.equal(receiver.next(), 'READY=1');
      assert.equal(receiver.next(), null);
    } finally {
      receiver.close();
    }
  });
}

test('a receiver whose queue is full does not block the sender', () => {
  const path = join(folder, 'full');
  const receiver = new Receiver(path);
  try {
    const fill = () => {
      for (let count = 0; count < 10_000; count += 1) sendDatagram(path, 'WATCHDOG=1');
    };
    assert.throws(fill, { code: 'EAGAIN' });
  } finally {
    receiver.close();
  }
});

test('a datagram that cannot be sent has the reason', () => {
  assert.throws(() => sendDatagram(join(folder, 'absent'), 'READY=1'), { code: 'ENOENT' });
  assert.throws(() => sendDatagram('relative', 'READY=1'), { code: 'EINVAL' });
  assert.throws(() => sendDatagram('/a\0b', 'READY=1'), { code: 'EINVAL' });
  assert.throws(() => sendDatagram(`/${'a'.repeat(108)}`, 'READY=1'), { code: 'ENAMETOOLONG' });
});
