/** The self-signed certificate files are complete after any power loss, and an operator's files are never overwritten. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ensureSelfSigned } from '../../../src/workers/server/tls/ensure-self-signed.ts';
import { computePairState } from '../../../src/workers/server/tls/serving-pair.ts';
import { TestAuthority } from '../../support/api-server/certificates.ts';

function aFolder(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'pki-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [certFile, keyFile] = [join(folder, 'pki/kubelet.crt'), join(folder, 'pki/kubelet.key')];
  const ensure = (settle = async () => {}) => ensureSelfSigned({ certFile, keyFile, host: 'node-1', settle });
  const read = () => ({ cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') });
  const isGood = () => computePairState(read(), Date.now()).state === 'good';
  return { certFile, keyFile, ensure, read, isGood, names: () => readdirSync(join(folder, 'pki')).toSorted() };
}

test('a pair is created once, with upstream’s permissions and without temporary files', async (t) => {
  const { certFile, keyFile, ensure, read, isGood, names } = aFolder(t);
  assert.deepEqual(await ensure(), { done: 'made', replaced: null });
  const created = read();
  assert.ok(isGood());
  assert.deepEqual([statSync(certFile).mode & 0o777, statSync(keyFile).mode & 0o777], [0o644, 0o600]);
  assert.deepEqual(await ensure(), { done: 'found', expired: false });
  assert.deepEqual([read(), names()], [created, ['kubelet.crt', 'kubelet.key']]);
});

test('a pair that a power loss has emptied is replaced, and its files are kept as copies', async (t) => {
  const { certFile, keyFile, ensure, read, isGood, names } = aFolder(t);
  await ensure();
  const { cert } = read();
  writeFileSync(keyFile, '');
  assert.deepEqual(await ensure(), { done: 'made', replaced: 'the key is empty or cut off' });
  assert.ok(isGood());
  assert.equal(readFileSync(`${certFile}.broken`, 'utf8'), cert);
  assert.deepEqual(names(), ['kubelet.crt', 'kubelet.crt.broken', 'kubelet.key', 'kubelet.key.broken']);
  assert.equal(statSync(`${keyFile}.broken`).mode & 0o777, 0o600);
});

test('a start that was interrupted between key and certificate is completed with the same pair', async (t) => {
  const { certFile, ensure, read, isGood, names } = aFolder(t);
  await ensure();
  const created = read();
  renameSync(certFile, `${certFile}.new`);
  assert.deepEqual(await ensure(), { done: 'made', replaced: null });
  assert.ok(isGood());
  assert.deepEqual([read(), names()], [created, ['kubelet.crt', 'kubelet.key']]);
});

test('a start that was interrupted before the key creates a new pair', async (t) => {
  const { certFile, keyFile, ensure, isGood, names } = aFolder(t);
  await ensure();
  renameSync(certFile, `${certFile}.new`);
  renameSync(keyFile, `${keyFile}.partial`);
  assert.deepEqual(await ensure(), { done: 'made', replaced: null });
  assert.ok(isGood());
  assert.deepEqual(names(), ['kubelet.crt', 'kubelet.key']);
});

test('files that may be an operator’s are not changed', async (t) => {
  const { certFile, keyFile, ensure, read } = aFolder(t);
  await ensure();
  const { cert } = new TestAuthority('site-ca').issue({ commonName: 'node-1' });
  writeFileSync(certFile, cert);
  const before = read();
  await assert.rejects(ensure(), { message: `error reading ${certFile}, the key is not that of the certificate` });
  assert.deepEqual(read(), before);
  rmSync(keyFile);
  await assert.rejects(ensure(), { message: `error reading ${keyFile}, certificate and key must be supplied as a pair` });
});

test('a pair that is being written is waited for', async (t) => {
  const { certFile, keyFile, ensure, read } = aFolder(t);
  await ensure();
  const { cert, key } = new TestAuthority('site-ca').issue({ commonName: 'node-1' });
  writeFileSync(certFile, '');
  const writing = [() => writeFileSync(keyFile, key), () => writeFileSync(certFile, cert)];
  const ensured = await ensure(async () => writing.shift()?.());
  assert.deepEqual(
    [ensured, read()],
    [
      { done: 'found', expired: false },
      { cert, key },
    ],
  );
});
