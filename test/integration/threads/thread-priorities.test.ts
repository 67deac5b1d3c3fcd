import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { isRealTimeWanted, realTimeVariable, ThreadPriorities } from '../../../src/main/threads/thread-priorities.ts';
import { niceOfThisThread } from '../../../src/shared/thread/nice.ts';
import { table } from '../../support/table.ts';

/** CAP_SYS_NICE is bit 23 of the effective capabilities (capability.h). */
function mayRaise(): boolean {
  const [, effective = '0'] = /^CapEff:\s+([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return ((BigInt(`0x${effective}`) >> 23n) & 1n) === 1n;
}

const ownStat = '/proc/thread-self/stat';
/** A field of the stat file, by its number in proc(5). */
const fieldOf = (stat: string, number: number): number => Number(stat.split(') ')[1]!.split(' ')[number - 3]);
/** 0 is SCHED_OTHER, 2 is SCHED_RR. */
const policyIn = (stat: string): number => fieldOf(stat, 41);
const niceIn = (stat: string): number => fieldOf(stat, 19);

/** The stat file of a new thread. */
async function statOfNewThread(): Promise<string> {
  const script = `require('node:worker_threads').parentPort.postMessage(require('node:fs').readFileSync('${ownStat}', 'utf8'))`;
  const worker = new Worker(script, { eval: true });
  const [stat] = (await once(worker, 'message')) as [string];
  await worker.terminate();
  return stat;
}

/** chrt of util-linux makes the same system call. */
const mayBeInRealTime = spawnSync('chrt', ['--rr', '1', 'true']).status === 0;
const normal = niceOfThisThread();

test('main has a lower nice value than the threads that it starts, if permitted; else all keep theirs', async () => {
  const priorities = new ThreadPriorities();
  assert.equal(priorities.raiseMain(), mayRaise() ? 'ahead' : 'normal');
  const main = readFileSync(ownStat, 'utf8');
  assert.deepEqual([niceIn(main), policyIn(main)], [mayRaise() ? normal - 5 : normal, 0]);
  const thread = await statOfNewThread();
  // Reset-on-fork: a new thread gets nice value 0 if its creator has a negative one.
  assert.deepEqual([niceIn(thread), policyIn(thread)], [mayRaise() ? Math.max(0, normal - 5) : normal, 0]);
});

test('a process that main starts has a normal nice value', () => {
  new ThreadPriorities().raiseMain();
  const stat = spawnSync('cat', ['/proc/self/stat'], { encoding: 'utf8' }).stdout;
  assert.ok(niceIn(stat) >= Math.min(0, normal), stat);
});

test('with real-time scheduling only main is real-time, and no thread or process that it starts', async () => {
  const raised = new ThreadPriorities().raiseMain({ realTime: true });
  assert.equal(raised, mayBeInRealTime ? 'realTime' : mayRaise() ? 'ahead' : 'normal');
  assert.equal(policyIn(readFileSync(ownStat, 'utf8')), mayBeInRealTime ? 2 : 0);
  assert.equal(policyIn(await statOfNewThread()), 0);
  const stat = spawnSync('cat', ['/proc/self/stat'], { encoding: 'utf8' }).stdout;
  assert.equal(policyIn(stat), 0);
  assert.ok(niceIn(stat) >= Math.min(0, normal), stat);
});

table('the environment variable enables real-time scheduling', (row) => {
  const read = (value?: string) => isRealTimeWanted(value === undefined ? {} : { [realTimeVariable]: value });
  for (const value of ['true', '1']) row(`${value} enables it`, () => assert.equal(read(value), true));
  for (const value of [undefined, '', 'false', '0']) row(`${value} disables it`, () => assert.equal(read(value), false));
  for (const value of ['yes', 'TRUE ', '2']) row(`${value} is invalid`, () => assert.equal(read(value), undefined));
});
