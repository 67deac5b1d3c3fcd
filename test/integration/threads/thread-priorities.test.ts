import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { ThreadPriorities } from '../../../src/main/threads/thread-priorities.ts';
import { niceOfThisThread, setNiceOfThisThread } from '../../../src/shared/thread/nice.ts';

/** CAP_SYS_NICE is bit 23 of the effective capabilities (capability.h). */
function mayRaise(): boolean {
  const [, effective = '0'] = /^CapEff:\s+([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return ((BigInt(`0x${effective}`) >> 23n) & 1n) === 1n;
}

const normal = niceOfThisThread();
after(() => setNiceOfThisThread(normal));

test('main goes before the threads that it makes, and those before what nobody waits for; where that is not allowed, all stay as they are', () => {
  const priorities = new ThreadPriorities();
  assert.equal(priorities.making(niceOfThisThread, 'none'), normal);
  priorities.raiseMain();
  const main = niceOfThisThread();
  const made = (['now', 'later', 'none'] as const).map((awaited) => priorities.making(niceOfThisThread, awaited));
  const expected = mayRaise() ? [normal - 5, normal, normal + 3, normal + 10] : [normal, normal, normal, normal];
  assert.deepEqual([main, ...made], expected);
  assert.equal(niceOfThisThread(), main);
});
