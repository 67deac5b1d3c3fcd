import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { requestLocal } from '../../../src/main/cli/request-local.ts';
import { ok } from '../../../src/shared/http/reply.ts';
import { localSocketName } from '../../../src/shared/local-socket/socket-path.ts';
import { LocalSocket } from '../../../src/workers/server/local-socket.ts';
import { aLogger } from '../../support/logger.ts';

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'socket-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function open(t: TestContext, folder: string, answer: string) {
  const { logger, lines } = aLogger();
  const socket = new LocalSocket(folder, { '/answer': () => ok(JSON.stringify(answer), 'application/json') }, logger);
  t.after(() => socket.close());
  await socket.opened;
  return { socket, lines };
}

test('the socket is for root only, and replaces what an earlier process left', async (t) => {
  const folder = join(aFolder(t), 'timeline');
  const { socket } = await open(t, folder, 'first');
  await socket.close();
  rmSync(join(folder, localSocketName));
  writeFileSync(join(folder, localSocketName), 'left over');
  await open(t, folder, 'second');
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.equal(statSync(join(folder, localSocketName)).mode & 0o777, 0o600);
  assert.equal(await requestLocal(join(folder, localSocketName), '/answer'), 'second');
});

test('a process that ends does not remove the socket of its successor', async (t) => {
  const folder = aFolder(t);
  const { socket: first } = await open(t, folder, 'first');
  await open(t, folder, 'second');
  await first.close();
  assert.equal(await requestLocal(join(folder, localSocketName), '/answer'), 'second');
});

test('a root directory whose path is too long for a socket is a warning', async (t) => {
  const { socket, lines } = await open(t, join(aFolder(t), 'x'.repeat(120)), 'never');
  await socket.close();
  assert.match(lines.map(({ msg }) => msg).join('\n'), /cannot open the socket of the commands/);
});

test('without a kubelet the error says so', async (t) => {
  const folder = aFolder(t);
  const path = join(folder, localSocketName);
  await assert.rejects(requestLocal(path, '/answer'), /no kubelet runs with this root directory/);
  const { socket } = await open(t, folder, 'gone');
  await socket.close();
  assert.ok(existsSync(path), 'the name stays until the next kubelet replaces it');
  await assert.rejects(requestLocal(path, '/answer'), /no kubelet runs with this root directory/);
});
