import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ThreadPriorities } from '../../../src/main/threads/thread-priorities.ts';
import { niceOfThisThread, setNiceOfThisThread } from '../../../src/shared/thread/nice.ts';

const normal = niceOfThisThread();
after(() => setNiceOfThisThread(normal));

test('main goes before the threads that it makes, and those before what nobody waits for; where that is not allowed, all stay as they are', () => {
  const priorities = new ThreadPriorities();
  assert.equal(priorities.making(niceOfThisThread, 'none'), normal);
  priorities.raiseMain();
  const main = niceOfThisThread();
  const made = (['now', 'later', 'none'] as const).map((awaited) => priorities.making(niceOfThisThread, awaited));
  const expected = process.getuid?.() === 0 ? [normal - 5, normal, normal + 3, normal + 10] : [main, main, main, main];
  assert.deepEqual([main, ...made], expected);
  assert.equal(niceOfThisThread(), main);
});
