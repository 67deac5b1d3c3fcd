/** The exchange that takes logind's lock, a file descriptor, with a server that answers as D-Bus does. */
import assert from 'node:assert/strict';
import { mkdtempSync, openSync, readdirSync, readlinkSync, rmSync, closeSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { messageType, type Message } from 'dbus-native';
import { marshall } from 'dbus-native/lib/message.js';
import { takeInhibitor } from '../../../src/main/node-shutdown/take-inhibitor.ts';
import { sendWithDescriptors } from '../../support/dbus/send-with-descriptors.ts';

const folder = mkdtempSync(join(tmpdir(), 'take-inhibitor-'));
after(() => rmSync(folder, { recursive: true, force: true }));

type Answer = (socket: Socket) => void;

/** Serves the authentication and the hello, and lets the test answer the call. */
async function serve(t: TestContext, answer: Answer): Promise<string> {
  const path = join(folder, `bus-${t.name.replaceAll(/\W/g, '').slice(0, 30)}`);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    let text = '';
    socket.on('data', (data) => {
      text += data.toString('latin1');
      for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end);
        text = text.slice(end + 2);
        if (line.startsWith('\0AUTH EXTERNAL ')) socket.write('OK 0123456789abcdef\r\n');
        else if (line === 'NEGOTIATE_UNIX_FD') socket.write('AGREE_UNIX_FD\r\n');
      }
      if (text.includes('Inhibit')) {
        text = '';
        const reply = marshall({ type: messageType.methodReturn, serial: 1, replySerial: 1, signature: 's', body: [':1.7'] });
        socket.write(reply, () => answer(socket));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return path;
}

const reply = (fields: Partial<Message>): Buffer => marshall({ type: messageType.methodReturn, serial: 2, replySerial: 2, ...fields });
const withLock = (descriptors: readonly number[]) => reply({ signature: 'h', body: [0], fds: [...descriptors] });
/** The descriptors of this process that are open for the file. */
const openFor = (path: string): number =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path;
    } catch {
      return false;
    }
  }).length;

function aFile(t: TestContext, name: string): { readonly path: string; readonly fd: number } {
  const path = join(folder, name);
  const fd = openSync(path, 'w');
  t.after(() => closeSync(fd));
  return { path, fd };
}

const untilAborted = new AbortController().signal;

test('the lock is a descriptor, which is closed by the release', async (t) => {
  const { path, fd } = aFile(t, 'lock');
  const bus = await serve(t, (socket) => sendWithDescriptors(socket, withLock([fd]), [fd]));
  const lock = await takeInhibitor(bus, 5000, untilAborted);
  assert.equal(openFor(path), 2);
  lock.release();
  lock.release();
  assert.equal(openFor(path), 1);
});

test('a reply in pieces is put together', async (t) => {
  const { path, fd } = aFile(t, 'pieces');
  const bus = await serve(t, (socket) => {
    const bytes = withLock([fd]);
    sendWithDescriptors(socket, bytes.subarray(0, 5), [fd]);
    setImmediate(() => socket.write(bytes.subarray(5)));
  });
  const lock = await takeInhibitor(bus, 5000, untilAborted);
  assert.equal(openFor(path), 2);
  lock.release();
});

test('a refusal has logind’s reason', async (t) => {
  const errorName = 'org.freedesktop.login1.OperationInProgress';
  const bus = await serve(t, (socket) =>
    socket.write(reply({ type: messageType.error, errorName, signature: 's', body: ['The operation has been requested already'] })),
  );
  await assert.rejects(takeInhibitor(bus, 5000, untilAborted), { message: `${errorName}: The operation has been requested already` });
});

test('a reply without a lock is an error', async (t) => {
  const bus = await serve(t, (socket) => socket.write(reply({})));
  await assert.rejects(takeInhibitor(bus, 5000, untilAborted), { message: 'logind has sent no lock' });
});

test('descriptors that come with a refusal are closed', async (t) => {
  const { path, fd } = aFile(t, 'others');
  const fds = [fd, fd, fd];
  const refusal = reply({ type: messageType.error, errorName: 'org.freedesktop.DBus.Error.Failed', fds });
  const bus = await serve(t, (socket) => sendWithDescriptors(socket, refusal, fds));
  await assert.rejects(takeInhibitor(bus, 5000, untilAborted));
  assert.equal(openFor(path), 1);
});

test('a server that does not answer, or is not there, is an error', async (t) => {
  const silent = await serve(t, () => {});
  await assert.rejects(takeInhibitor(silent, 200, untilAborted), { code: 'EAGAIN' });
  await assert.rejects(takeInhibitor(join(folder, 'absent'), 5000, untilAborted), { code: 'ENOENT' });
});

test('a server that closes the connection is an error', async (t) => {
  const closing = await serve(t, (socket) => socket.destroy());
  await assert.rejects(takeInhibitor(closing, 5000, untilAborted), { message: 'the connection to D-Bus was closed' });
});

test('a kubelet that stops does not wait for the answer', async (t) => {
  const stop = new AbortController();
  const bus = await serve(t, () => stop.abort());
  await assert.rejects(takeInhibitor(bus, 600_000, stop.signal));
});
