import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { ThreadPriorities } from '../../../src/main/threads/thread-priorities.ts';
import { niceOfThisThread, setNiceOfThisThread } from '../../../src/shared/thread/nice.ts';
import { leaveRealTime } from '../../../src/shared/thread/real-time.ts';

/** CAP_SYS_NICE is bit 23 of the effective capabilities (capability.h). */
function mayRaise(): boolean {
  const [, effective = '0'] = /^CapEff:\s+([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return ((BigInt(`0x${effective}`) >> 23n) & 1n) === 1n;
}

/** Field 41 of proc(5)'s stat: 0 by nice values, 2 in real time by turns. */
const policyIn = (stat: string): number => Number(stat.split(') ')[1]!.split(' ')[38]);
const ownStat = '/proc/thread-self/stat';
const policy = (): number => policyIn(readFileSync(ownStat, 'utf8'));

/** Of a new thread, from its start on. */
async function policyOfNewThread(make: (create: () => Worker) => Worker): Promise<number> {
  const tell = `require('node:worker_threads').parentPort.postMessage(require('node:fs').readFileSync('${ownStat}', 'utf8'))`;
  const worker = make(() => new Worker(tell, { eval: true }));
  const [stat] = (await once(worker, 'message')) as [string];
  await worker.terminate();
  return policyIn(stat);
}

/** util-linux asks the kernel for it as we do. */
const mayBeInRealTime = spawnSync('chrt', ['--rr', '1', 'true']).status === 0;
const normal = niceOfThisThread();
after(() => {
  leaveRealTime();
  setNiceOfThisThread(normal);
});

test('main goes before the threads that it makes, and those before what nobody waits for; where that is not allowed, all stay as they are', () => {
  const priorities = new ThreadPriorities();
  assert.equal(priorities.making(niceOfThisThread, 'none'), normal);
  const raised = priorities.raiseMain();
  assert.equal(raised, mayBeInRealTime ? 'realTime' : mayRaise() ? 'ahead' : 'normal');
  const main = niceOfThisThread();
  const made = (['now', 'later', 'none'] as const).map((awaited) => priorities.making(niceOfThisThread, awaited));
  const expected = mayRaise() ? [normal - 5, normal, normal + 3, normal + 10] : [normal, normal, normal, normal];
  assert.deepEqual([main, ...made], expected);
  assert.equal(niceOfThisThread(), main);
});

test('in real time is main alone: no thread that it makes, and none that makes itself', async () => {
  const priorities = new ThreadPriorities();
  priorities.raiseMain();
  const main = mayBeInRealTime ? 2 : 0;
  assert.deepEqual([policy(), priorities.making(policy), policy()], [main, 0, main]);
  assert.equal(await policyOfNewThread((create) => priorities.making(create)), 0);
  assert.equal(await policyOfNewThread((create) => create()), 0);
});
