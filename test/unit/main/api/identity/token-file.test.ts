import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenFile } from '../../../../../src/main/api/identity/token-file.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';

function aTokenFile(content: { text: string | Error; reads: number }, fallback = '') {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const readFile = async () => {
    content.reads += 1;
    if (content.text instanceof Error) throw content.text;
    return content.text;
  };
  return { file: new TokenFile({ path: '/token', fallback, readFile, clock, logger }), clock, lines };
}

test('concurrent callers share one read of the token, which is reread within a minute', async () => {
  const content = { text: ' one\n' as string | Error, reads: 0 };
  const { file, clock } = aTokenFile(content);
  assert.deepEqual(await Promise.all([file.current(), file.current()]), ['one', 'one']);
  content.text = 'two';
  await clock.advance(49_000);
  assert.equal(await file.current(), 'one');
  await clock.advance(2_000);
  assert.equal(await file.current(), 'two');
  assert.equal(content.reads, 2);
});

test('a 401 makes the next call reread the file, unless the token is newer than the rejected call', async () => {
  const content = { text: 'one' as string | Error, reads: 0 };
  const { file, clock } = aTokenFile(content);
  await clock.advance(1_000);
  await file.current();
  file.invalidateBefore(500);
  await file.current();
  assert.equal(content.reads, 1);
  await clock.advance(1_000);
  content.text = 'two';
  file.invalidateBefore(clock.monotonic());
  assert.equal(await file.current(), 'two');
});

test('an unreadable file is logged, and the last token stays in use', async () => {
  const content = { text: 'one' as string | Error, reads: 0 };
  const { file, clock, lines } = aTokenFile(content);
  await file.current();
  for (const bad of [new Error('ENOENT'), '', 'a\nb']) {
    content.text = bad;
    await clock.advance(60_000);
    assert.equal(await file.current(), 'one');
  }
  assert.equal(lines.length, 3);
});

test('an unreadable file without a token is an error that names the file, unless the kubeconfig has a token', async () => {
  const content = { text: new Error('ENOENT') as string | Error, reads: 0 };
  await assert.rejects(aTokenFile(content).file.current(), /failed to read token file "\/token": ENOENT/);
  assert.equal(await aTokenFile(content, 'own').file.current(), 'own');
});
