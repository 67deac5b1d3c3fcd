/** The files of the node's certificates: formats, modes, links, and what a broken or read-only folder costs. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parsePair } from '../../../src/main/certificates/certificate-pair.ts';
import { CertificateStore, fileDate } from '../../../src/main/certificates/store/certificate-store.ts';
import { PendingKey } from '../../../src/main/certificates/store/pending-key.ts';
import { toPEM } from '../../../src/main/certificates/certificate-pair.ts';
import { TestAuthority } from '../../support/api-server/certificates.ts';
import { goKey } from '../../support/certificates/go-values.ts';
import { aLogger } from '../../support/logger.ts';

const authority = new TestAuthority('ca');

function aPair() {
  const { cert, key } = authority.issue({ commonName: 'system:node:node-a', organizations: ['system:nodes'] });
  return parsePair(cert + authority.cert, key);
}

function setUp(t: TestContext, files?: { readonly cert: string; readonly key: string }) {
  const folder = mkdtempSync(join(tmpdir(), 'pki-'));
  t.after(() => {
    // Of the tests that mount a file system there.
    spawnSync('umount', [folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  const { logger, lines } = aLogger();
  const options = { prefix: 'kubelet-client', folder, logger, ...(files && { files }) } as const;
  return { folder, store: new CertificateStore(options), pendingKey: new PendingKey(folder, logger), lines };
}

const modeOf = (path: string): number => statSync(path).mode & 0o777;
const date = new Date(2026, 0, 2, 3, 4, 5);

test('a pair is stored with a date in its name, readable by root only, behind the link', async (t) => {
  const { folder, store } = setUp(t);
  const pair = aPair();
  const old = process.umask(0);
  t.after(() => process.umask(old));
  await store.save(pair, date);
  assert.deepEqual(readdirSync(folder).sort(), ['kubelet-client-2026-01-02-03-04-05.pem', 'kubelet-client-current.pem']);
  assert.equal(readlinkSync(store.currentPath), join(folder, 'kubelet-client-2026-01-02-03-04-05.pem'));
  assert.equal(modeOf(store.currentPath), 0o600);
  assert.equal(readFileSync(store.currentPath, 'utf8'), pair.cert + pair.key);
  assert.equal((await store.load())?.leaf.serialNumber, pair.leaf.serialNumber);
  // openssl reads both parts.
  execFileSync('openssl', ['x509', '-in', store.currentPath, '-noout'], { stdio: 'pipe' });
  execFileSync('openssl', ['ec', '-in', store.currentPath, '-noout'], { stdio: 'pipe' });
});

test('the next pair replaces the link, also in the same second', async (t) => {
  const { folder, store } = setUp(t);
  const pairs = [aPair(), aPair(), aPair()];
  for (const pair of pairs) await store.save(pair, date);
  assert.equal((await store.load())?.leaf.serialNumber, pairs[2]!.leaf.serialNumber);
  await store.save(pairs[0]!, new Date(2026, 0, 3));
  assert.equal(readdirSync(folder).length, 3);
});

test('twenty certificates are kept, and nothing else is removed', async (t) => {
  const { folder, store } = setUp(t);
  for (const name of ['kubelet-server-2026-01-02-03-04-05.pem', 'kubelet-client-mine.pem', 'ca.crt']) writeFileSync(join(folder, name), '');
  for (let day = 1; day <= 25; day += 1) await store.save(aPair(), new Date(2026, 0, day));
  const own = readdirSync(folder).filter((name) => name.startsWith('kubelet-client-2026'));
  assert.equal(own.length, 20);
  assert.equal(own.sort()[0], 'kubelet-client-2026-01-06-00-00-00.pem');
  assert.equal(readdirSync(folder).length, 24);
  // The clock was set back: the oldest name is the current one.
  const pair = aPair();
  await store.save(pair, new Date(2025, 0, 1));
  assert.equal((await store.load())?.leaf.serialNumber, pair.leaf.serialNumber);
});

test('the folder is created', async (t) => {
  const { folder, store } = setUp(t);
  rmSync(folder, { recursive: true });
  assert.equal(await store.load(), null);
  await store.save(aPair(), date);
  assert.ok(await store.load());
});

test("the link that client-go's interrupted replacement left is taken", async (t) => {
  const { folder, store } = setUp(t);
  const pair = aPair();
  await store.save(pair, date);
  const target = readlinkSync(store.currentPath);
  rmSync(store.currentPath);
  symlinkSync(target, join(folder, 'kubelet-client-updated.pem'));
  assert.equal((await store.load())?.leaf.serialNumber, pair.leaf.serialNumber);
  assert.ok(!existsSync(join(folder, 'kubelet-client-updated.pem')));
});

test('without a current pair, the given files are used, then those of the folder', async (t) => {
  const outside = mkdtempSync(join(tmpdir(), 'files-'));
  t.after(() => rmSync(outside, { recursive: true }));
  const given = { cert: join(outside, 'tls.crt'), key: join(outside, 'tls.key') };
  const { folder, store } = setUp(t, given);
  const [first, second] = [aPair(), aPair()];
  writeFileSync(join(folder, 'kubelet-client.crt'), first.cert);
  writeFileSync(join(folder, 'kubelet-client.key'), first.key);
  assert.equal((await store.load())?.leaf.serialNumber, first.leaf.serialNumber);
  writeFileSync(given.cert, second.cert);
  writeFileSync(given.key, second.key);
  assert.equal((await store.load())?.leaf.serialNumber, second.leaf.serialNumber);
});

const broken: [name: string, content: () => string, message: RegExp][] = [
  ['empty', () => '', /has no certificate in PEM/],
  ['without its key', () => aPair().cert, /has no private key in PEM/],
  ["with another pair's key", () => aPair().cert + aPair().key, /private key does not match public key/],
  ['cut off', () => `${aPair().cert}${aPair().key}`.slice(0, 300), /has no certificate in PEM/],
  ['huge', () => 'x'.repeat(2 ** 20), /is larger than/],
];
for (const [name, content, message] of broken) {
  test(`a current file that is ${name} is an error`, async (t) => {
    const { store } = setUp(t);
    writeFileSync(store.currentPath, content());
    await assert.rejects(store.load(), message);
  });
}

test('a folder in place of the current file is an error, a FIFO blocks nothing', async (t) => {
  const { store } = setUp(t);
  execFileSync('mkfifo', [store.currentPath]);
  await assert.rejects(store.load(), /is not a regular file/);
  rmSync(store.currentPath);
  mkdirSync(store.currentPath);
  await assert.rejects(store.load());
});

test("somebody else's file in place of the link is not replaced", async (t) => {
  const { store } = setUp(t);
  const pair = aPair();
  writeFileSync(store.currentPath, pair.cert + pair.key);
  await assert.rejects(store.save(aPair(), date), /to be a symlink but it is a file/);
  assert.equal((await store.load())?.leaf.serialNumber, pair.leaf.serialNumber);
});

test('a key that others can read is protected, with a warning', async (t) => {
  const { store, lines } = setUp(t);
  await store.save(aPair(), date);
  chmodSync(store.currentPath, 0o644);
  await store.load();
  assert.equal(modeOf(store.currentPath), 0o600);
  assert.ok(lines.some(({ msg }) => msg.includes('Other users could read the private key')));
});

test('a full folder is an error and leaves no file', async (t) => {
  const { folder } = setUp(t);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', folder]);
  const store = new CertificateStore({ prefix: 'kubelet-client', folder, logger: aLogger().logger });
  writeFileSync(join(folder, 'filler'), 'x'.repeat(4096));
  await assert.rejects(store.save(aPair(), date), /ENOSPC/);
  assert.deepEqual(readdirSync(folder), ['filler']);
});

test('the date of a file is local time', () => {
  assert.equal(fileDate(date), '2026-01-02-03-04-05');
  assert.equal(fileDate(new Date(2026, 10, 24, 13, 45, 59)), '2026-11-24-13-45-59');
});

test('a pending key survives a restart, and is gone when it is discarded', async (t) => {
  const { folder, pendingKey } = setUp(t);
  const path = join(folder, 'kubelet-client.key.tmp');
  const key = await pendingKey.loadOrGenerate();
  assert.equal(modeOf(path), 0o600);
  assert.equal(readFileSync(path, 'utf8'), toPEM(key));
  assert.match(toPEM(key), /^-----BEGIN EC PRIVATE KEY-----/);
  assert.ok((await new PendingKey(folder, aLogger().logger).loadOrGenerate()).equals(key));
  await pendingKey.discard();
  assert.deepEqual(readdirSync(folder), []);
  assert.ok(!(await pendingKey.loadOrGenerate()).equals(key));
});

test("the Go kubelet's pending key is used, with its mode corrected", async (t) => {
  const { folder, pendingKey } = setUp(t);
  writeFileSync(join(folder, 'kubelet-client.key.tmp'), goKey, { mode: 0o644 });
  assert.equal(toPEM(await pendingKey.loadOrGenerate()), goKey);
  assert.equal(modeOf(join(folder, 'kubelet-client.key.tmp')), 0o600);
});

test('a broken pending key is set aside', async (t) => {
  const { folder, pendingKey, lines } = setUp(t);
  writeFileSync(join(folder, 'kubelet-client.key.tmp'), goKey.slice(0, 80));
  await pendingKey.loadOrGenerate();
  assert.equal(readFileSync(join(folder, 'kubelet-client.key.tmp.broken'), 'utf8'), goKey.slice(0, 80));
  assert.ok(!JSON.stringify(lines).includes('MHcCAQEE'));
});

test('a key that can not be stored is the same until it is discarded', async (t) => {
  const { folder, lines } = setUp(t);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', folder]);
  const pendingKey = new PendingKey(folder, aLogger().logger);
  const key = await pendingKey.loadOrGenerate();
  assert.ok((await pendingKey.loadOrGenerate()).equals(key));
  assert.equal(lines.length, 0);
});
