import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { ThreadPriorities } from '../../../src/main/threads/thread-priorities.ts';
import { niceOfThisThread } from '../../../src/shared/thread/nice.ts';

/** CAP_SYS_NICE is bit 23 of the effective capabilities (capability.h). */
function mayRaise(): boolean {
  const [, effective = '0'] = /^CapEff:\s+([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return ((BigInt(`0x${effective}`) >> 23n) & 1n) === 1n;
}

const ownStat = '/proc/thread-self/stat';
/** By its number in proc(5). */
const fieldOf = (stat: string, number: number): number => Number(stat.split(') ')[1]!.split(' ')[number - 3]);
/** 0 by nice values, 2 in real time by turns. */
const policyIn = (stat: string): number => fieldOf(stat, 41);
const niceIn = (stat: string): number => fieldOf(stat, 19);

/** Of a new thread, from its start on. */
async function ofNewThread(what: (stat: string) => number, make: (create: () => Worker) => Worker): Promise<number> {
  const tell = `require('node:worker_threads').parentPort.postMessage(require('node:fs').readFileSync('${ownStat}', 'utf8'))`;
  const worker = make(() => new Worker(tell, { eval: true }));
  const [stat] = (await once(worker, 'message')) as [string];
  await worker.terminate();
  return what(stat);
}

/** util-linux asks the kernel for it as we do. */
const mayBeInRealTime = spawnSync('chrt', ['--rr', '1', 'true']).status === 0;
const normal = niceOfThisThread();

test('main goes before the threads that it makes; where that is not allowed, all stay as they are', async () => {
  const priorities = new ThreadPriorities();
  const raised = priorities.raiseMain();
  assert.equal(raised, mayBeInRealTime ? 'realTime' : mayRaise() ? 'ahead' : 'normal');
  const main = niceOfThisThread();
  const made = await ofNewThread(niceIn, (create) => priorities.making(create));
  // The kernel gives a thread of one in real time the nice value 0.
  assert.deepEqual([main, made], mayRaise() ? [normal - 5, mayBeInRealTime ? 0 : normal] : [normal, normal]);
  assert.equal(niceOfThisThread(), main);
});

test('in real time is main alone: no thread that it makes, and none that makes itself', async () => {
  const priorities = new ThreadPriorities();
  priorities.raiseMain();
  assert.equal(await ofNewThread(policyIn, (create) => priorities.making(create)), 0);
  assert.equal(await ofNewThread(policyIn, (create) => create()), 0);
  assert.equal(policyIn(readFileSync(ownStat, 'utf8')), mayBeInRealTime ? 2 : 0);
});
