import assert from 'node:assert/strict';
import { chooseJob, isWaitingForBuilds, type QueueState } from '../../runner/queue.ts';
import type { TestJob } from '../../runner/jobs.ts';
import { table } from '../../support/table.ts';

const aJob = (name: string, fields: Partial<TestJob> = {}): TestJob => ({
  name,
  part: 'guest',
  needs: [],
  weight: 1,
  alone: false,
  seconds: 10,
  ...fields,
});
const check = aJob('check', { part: 'check' });
const unit = aJob('unit', { part: 'unit', seconds: 5 });
const integration = aJob('integration', { part: 'integration', seconds: 2 });
const short = aJob('short', { seconds: 20 });
const long = aJob('long', { seconds: 90 });
const e2e = aJob('e2e', { part: 'e2e', seconds: 50 });
const alone = aJob('alone', { part: 'e2e', seconds: 5, alone: true });
const heavy = aJob('heavy', { weight: 2, seconds: 300 });
const unbuilt = aJob('unbuilt', { needs: ['control-plane'], seconds: 500 });

const state = (waiting: readonly TestJob[], fields: Partial<QueueState> = {}): QueueState => ({
  waiting,
  running: [],
  built: new Set(),
  lane: 1,
  lanes: 3,
  ...fields,
});

const cases: { name: string; state: QueueState; want: string | undefined }[] = [
  { name: 'the longest job first', state: state([short, long, e2e]), want: 'long' },
  { name: 'no job when none waits', state: state([]), want: undefined },
  { name: 'no job that needs a build', state: state([unbuilt, short]), want: 'short' },
  { name: 'a job whose build has ended', state: state([unbuilt, short], { built: new Set(['control-plane']) }), want: 'unbuilt' },
  { name: 'checks before others in the first lane', state: state([long, unit, integration, check], { lane: 0 }), want: 'check' },
  { name: 'integration tests before others in the first lane', state: state([long, integration], { lane: 0 }), want: 'integration' },
  { name: 'the longest job in the first lane after that', state: state([short, long], { lane: 0 }), want: 'long' },
  { name: 'no job when all lanes are busy', state: state([short], { running: [long, e2e, check] }), want: undefined },
  { name: 'no job in a lane that a heavy job counts as', state: state([short], { running: [heavy, e2e] }), want: undefined },
  { name: 'a heavy job in two lanes', state: state([heavy, short], { running: [e2e] }), want: 'heavy' },
  {
    name: 'nothing while the longest job waits for a second lane',
    state: state([heavy, short], { running: [e2e, long] }),
    want: undefined,
  },
  { name: 'a heavy job in the only lane', state: state([heavy], { lanes: 1, lane: 0 }), want: 'heavy' },
  { name: 'a job that runs alone before longer ones', state: state([long, e2e, alone]), want: 'alone' },
  { name: 'no end-to-end file beside a job that runs alone', state: state([e2e, short], { running: [alone] }), want: 'short' },
  { name: 'no job that runs alone beside an end-to-end file', state: state([alone, short], { running: [e2e] }), want: 'short' },
  { name: 'no end-to-end file while a job that runs alone is ready', state: state([alone, e2e, short], { running: [e2e] }), want: 'short' },
];

table('a free lane takes', (row) => {
  for (const { name, state: given, want } of cases) row(name, () => assert.equal(chooseJob(given)?.name, want));
});

const waits: { name: string; state: QueueState; want: boolean }[] = [
  { name: 'a lane is idle, and all that waits needs builds', state: state([unbuilt], { running: [long] }), want: true },
  { name: 'not while something can start', state: state([unbuilt, short]), want: false },
  { name: 'not while all lanes are busy', state: state([unbuilt], { running: [long, short, e2e] }), want: false },
  { name: 'not when nothing waits', state: state([]), want: false },
];

table('jobs wait for builds:', (row) => {
  for (const { name, state: given, want } of waits) row(name, () => assert.equal(isWaitingForBuilds(given), want));
});
