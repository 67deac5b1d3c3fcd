import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodTimelines, SlowPhases } from '../../../../src/main/timeline/index.ts';
import type { RecordedEvent } from '../../../../src/shared/contracts/event.ts';
import { containerPhases, timelinePhases } from '../../../../src/shared/contracts/timeline.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { podsWithoutTimeline } from '../../../../src/shared/metrics/definitions/pods.ts';
import { timelineJson } from '../../../../src/shared/timeline/timeline-json.ts';
import { timelineTable } from '../../../../src/shared/timeline/timeline-table.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';

const uid = 'uid-1' as PodUID;
const pod = (over: Partial<Pod['metadata']> = {}, containers = 1): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default', uid, ...over },
  spec: { containers: Array.from({ length: containers }, (_, index) => ({ name: `c${index}`, image: 'busybox' })) },
});

async function start(capacity = 4) {
  const clock = new FakeClock();
  await clock.advance(1000);
  const timelines = new PodTimelines({ buffer: timelineTable.create(capacity), clock, logger: aLogger().logger });
  const span = (phase: string, container?: string) =>
    timelines.get(uid)?.spans.find((one) => one.phase === phase && one.container === container);
  return { clock, timelines, span };
}

test('a record takes at most 2 KB, with the entry of its pod in main’s index', () => {
  // A Map's entry has three words, and a table of twice its size.
  const indexBytes = 2 * 3 * 8;
  assert.ok(timelineTable.layout.rowBytes + indexBytes <= 2048, `${timelineTable.layout.rowBytes} bytes`);
});

test('a pod with 20 containers and the longest names fills its record, and no other', async () => {
  const { clock, timelines } = await start(3);
  const other = 'uid-2' as PodUID;
  timelines.see(pod({ name: 'n'.repeat(253), namespace: 's'.repeat(63) }, 20), false);
  timelines.see(pod({ name: 'other', uid: other }), false);
  const otherBefore = timelines.get(other);
  for (let round = 0; round < 3; round += 1) {
    for (const phase of timelinePhases) timelines.begin(uid, phase);
    for (let index = 0; index < 20; index += 1) {
      for (const phase of containerPhases) {
        timelines.begin(uid, phase, { container: `${'c'.repeat(60)}${index}` });
        await clock.advance(10);
        timelines.end(uid, phase, { container: `${'c'.repeat(60)}${index}` });
      }
    }
    timelines.setProblem(uid, 'task', 'ü'.repeat(5000));
  }
  const json = timelineJson(timelines.get(uid)!, clock.monotonic());
  assert.equal(json.phases.length, timelinePhases.length + 7 * containerPhases.length);
  assert.equal(json.mergedContainers, 14);
  assert.equal(json.problem, 'ü'.repeat(96));
  assert.ok(JSON.stringify(json).length < 20_000);
  assert.deepEqual(timelines.get(other), otherBefore);
});

test('a pod has a start, a termination, and an end', async () => {
  const { clock, timelines, span } = await start();
  timelines.see(pod(), false);
  assert.equal(timelines.get(uid)?.state, 'Starting');
  timelines.report(uid, { edge: 'begin', phase: 'Sandbox', atMs: 1000 });
  const endWait = timelines.wait(uid, 'Sandbox', 'StartPermit');
  await clock.advance(300);
  endWait();
  timelines.report(uid, { edge: 'end', phase: 'Sandbox', atMs: 1500 });
  assert.deepEqual([span('Sandbox')?.durationMs, span('Sandbox')?.waitedMs, span('Sandbox')?.wait], [500, 300, 'StartPermit']);
  timelines.end(uid, 'Running');
  assert.equal(timelines.get(uid)?.state, 'Running');
  timelines.terminating(uid, 30);
  assert.equal(timelines.get(uid)?.state, 'Terminating');
  assert.equal(span('Ready')?.outcome, 'failed');
  timelines.finished(uid);
  assert.equal(timelines.get(uid)?.state, 'Finished');
});

test('a shorter grace period shortens the steps that share it', async () => {
  const { clock, timelines, span } = await start();
  timelines.see(pod(), false);
  timelines.terminating(uid, 30);
  timelines.begin(uid, 'Stop', { container: 'c0', dueMs: clock.monotonic() + 30_000 });
  await clock.advance(1000);
  timelines.terminating(uid, 5);
  assert.deepEqual([span('Stop', 'c0')?.dueAfterMs, span('Termination')?.dueAfterMs], [6000, 6000]);
});

test('what a lost task left open has failed', async () => {
  const { timelines, span } = await start();
  timelines.see(pod(), false);
  timelines.begin(uid, 'Start', { container: 'c0' });
  timelines.begin(uid, 'StatusWrite');
  timelines.taskEnded(uid);
  assert.deepEqual([span('Start', 'c0')?.outcome, span('StatusWrite')?.outcome, span('Running')?.outcome], ['failed', 'open', 'open']);
});

test('resyncs of a running pod keep the record of its start', async () => {
  const { clock, timelines, span } = await start();
  timelines.see(pod(), false);
  timelines.begin(uid, 'Sync');
  timelines.end(uid, 'Sync');
  timelines.end(uid, 'Running');
  await clock.advance(60_000);
  timelines.begin(uid, 'Sync');
  assert.deepEqual([span('Sync')?.startMs, span('Sync')?.count], [1000, 1]);
  timelines.terminating(uid, 30);
  timelines.begin(uid, 'Sync');
  assert.deepEqual([span('Sync')?.startMs, span('Sync')?.count], [61_000, 2]);
});

test('a pod that ran before this kubelet is marked, and has no start', async () => {
  const { timelines } = await start();
  timelines.see(pod(), true);
  assert.equal(timelines.get(uid)?.restored, true);
  assert.deepEqual(timelines.get(uid)?.spans, []);
});

test('a pod that is recreated with its UID has a new record when the old one has finished', async () => {
  const { clock, timelines } = await start();
  timelines.see(pod(), false);
  timelines.terminating(uid, 1);
  timelines.objectGone(uid);
  timelines.see(pod(), false);
  assert.equal(timelines.get(uid)?.state, 'Terminating');
  timelines.objectGone(uid);
  timelines.finished(uid);
  await clock.advance(500);
  timelines.see(pod(), false);
  assert.deepEqual([timelines.get(uid)?.state, timelines.get(uid)?.seenAtMs], ['Starting', 1500]);
});

test('finished pods make room, the oldest first; running pods do not', async () => {
  const { timelines } = await start(2);
  const [first, second, third, fourth] = ['a', 'b', 'c', 'd'].map((name) => name as PodUID);
  for (const each of [first, second]) timelines.see(pod({ uid: each! }), false);
  timelines.finished(second!);
  timelines.see(pod({ uid: third! }), false);
  assert.deepEqual(
    [first, second, third].map((each) => timelines.get(each!)?.state),
    ['Starting', undefined, 'Starting'],
  );
  timelines.see(pod({ uid: fourth! }), false);
  timelines.begin(fourth!, 'Sync');
  assert.equal(timelines.get(fourth!), undefined);
});

test('refused pods make room while their objects stay, and get no record again', async () => {
  const { timelines } = await start(2);
  const [refused, first, second] = ['a', 'b', 'c'].map((name) => name as PodUID);
  timelines.see(pod({ uid: refused! }), false);
  timelines.rejected(refused!, { reason: 'Evicted', message: 'no' });
  assert.equal(timelines.get(refused!)?.state, 'Refused');
  for (const each of [first, second]) timelines.see(pod({ uid: each! }), false);
  assert.deepEqual(
    [refused, first, second].map((each) => timelines.get(each!)?.state),
    [undefined, 'Starting', 'Starting'],
  );
  timelines.finished(first!);
  timelines.see({ ...pod({ uid: refused! }), status: { phase: 'Failed' } }, false);
  assert.equal(timelines.get(refused!), undefined);
  // A deleted object that stays says why.
  const metadata = { ...pod({ uid: second! }).metadata, uid: 'd', deletionTimestamp: '2026-01-01T00:00:00Z' };
  timelines.see({ ...pod({ uid: 'd' }), metadata, status: { phase: 'Failed' } }, false);
  assert.notEqual(timelines.get('d' as PodUID), undefined);
  timelines.finished('d' as PodUID);
  // A kubelet that restarts while it stops the pod's containers shows what their end takes.
  timelines.see({ ...pod({ uid: refused! }), status: { phase: 'Failed' } }, true);
  assert.notEqual(timelines.get(refused!), undefined);
});

test('a pod without a free row is counted once, with one warning for all', (t) => {
  const logged = aLogger();
  const timelines = new PodTimelines({ buffer: timelineTable.create(1), clock: new FakeClock(), logger: logged.logger });
  const count = t.mock.method(podsWithoutTimeline, 'inc');
  for (const name of ['a', 'b', 'c', 'b']) timelines.see(pod({ uid: name }), false);
  assert.equal(count.mock.callCount(), 2);
  assert.equal(logged.lines.length, 1);
});

test('the phase of an image has the size of what was pulled', async () => {
  const { timelines, span } = await start();
  timelines.see(pod({}, 9), false);
  const ensure = (containerName: string, pulledBytes?: number) =>
    timelines.measureImage({ podUID: uid, containerName }, async () => ({
      outcome: 'present',
      ...(pulledBytes !== undefined && { pulledBytes }),
    }));
  await ensure('c0', 5_000_001);
  await ensure('c1');
  assert.deepEqual([span('Image', 'c0')?.imageKiB, span('Image', 'c1')?.imageKiB], [4883, undefined]);
  await ensure('c0');
  assert.equal(span('Image', 'c0')?.imageKiB, undefined);
  for (let index = 2; index < 9; index += 1) await ensure(`c${index}`, 2048);
  assert.equal(timelines.get(uid)?.spans.at(-1)?.imageKiB, 6);
});

test('one event per pod and phase says which phase exceeds its budget', async () => {
  const { clock, timelines } = await start();
  const events: RecordedEvent[] = [];
  const slow = new SlowPhases({ timelines, events: { record: (event) => events.push(event) }, clock, logger: aLogger().logger });
  timelines.see(pod(), false);
  timelines.begin(uid, 'Sandbox');
  await clock.advance(29_999);
  assert.equal(events.length, 0);
  await clock.advance(1);
  assert.deepEqual(
    events.map(({ object, type, reason }) => [object.name, object.uid, type, reason]),
    [['web', uid, 'Warning', 'PodPhaseSlow']],
  );
  timelines.begin(uid, 'Sandbox');
  timelines.begin(uid, 'Image', { container: 'c0' });
  await clock.advance(3_600_000);
  assert.deepEqual(
    events.map(({ message }) => message.split(' ')[0]),
    ['Sandbox', 'Image'],
  );
  slow.close();
});

test('a termination beyond its grace period names what the pod waits for', async () => {
  const { clock, timelines } = await start();
  const events: RecordedEvent[] = [];
  const slow = new SlowPhases({ timelines, events: { record: (event) => events.push(event) }, clock, logger: aLogger().logger });
  timelines.see(pod(), true);
  timelines.terminating(uid, 5);
  timelines.begin(uid, 'SandboxStop');
  await clock.advance(15_000);
  assert.match(events[0]?.message ?? '', /^Termination takes longer than 15 s: 15 s so far; waits for the runtime: StopPodSandbox/);
  slow.close();
});

test('a phase that ends in time has no event', async () => {
  const { clock, timelines } = await start();
  const slow = new SlowPhases({ timelines, events: { record: () => assert.fail('no event') }, clock, logger: aLogger().logger });
  timelines.see(pod(), false);
  timelines.begin(uid, 'Sandbox');
  timelines.end(uid, 'Sandbox');
  await clock.advance(3_600_000);
  slow.close();
});
