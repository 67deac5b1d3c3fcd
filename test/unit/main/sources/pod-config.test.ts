import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodConfig, SourcesReady } from '../../../../src/main/sources/pod-config.ts';
import type { RecordedEvent } from '../../../../src/shared/contracts/event.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { silentLogger } from '../../../support/logger.ts';

const aPod = (uid: string): Pod => ({ metadata: { name: 'web', namespace: 'default', uid }, spec: { containers: [] } });

function aPodConfig() {
  const events: RecordedEvent[] = [];
  const reports = { count: 0 };
  const config = new PodConfig({
    sources: ['file', 'http'],
    onReport: () => (reports.count += 1),
    onEvent: (event) => events.push(event),
    clock: new FakeClock(),
    logger: silentLogger,
  });
  return { config, events, reports };
}

test('the first report of a source without pods is one empty ADD', () => {
  const { config, reports } = aPodConfig();
  config.set('file', []);
  assert.equal(reports.count, 1);
  assert.deepEqual(config.take(), [{ op: 'ADD', source: 'file', pods: [] }]);
  config.set('file', []);
  assert.deepEqual(config.take(), []);
});

test("a source's report removes no pod of another source", () => {
  const { config } = aPodConfig();
  config.set('file', [aPod('one')]);
  config.set('http', []);
  assert.deepEqual(
    config.take().map(({ op, source }) => [op, source]),
    [
      ['ADD', 'file'],
      ['ADD', 'http'],
    ],
  );
});

test('only the newest of several reports counts', () => {
  const { config } = aPodConfig();
  config.set('file', [aPod('one')]);
  config.take();
  for (let change = 0; change < 100; change += 1) config.set('file', change % 2 === 0 ? [] : [aPod(`other-${change}`)]);
  config.set('file', [aPod('two')]);
  assert.deepEqual(
    config.take().map(({ op, pods }) => [op, pods.map(({ metadata }) => metadata.uid)]),
    [
      ['REMOVE', ['one']],
      ['ADD', ['two']],
    ],
  );
  assert.deepEqual(config.take(), []);
});

test('a recreated pod is removed and added, however many reports precede the take', () => {
  const { config } = aPodConfig();
  config.set('file', [aPod('one')]);
  config.take();
  config.set('file', [aPod('one')], new Set(['one' as PodUID]));
  config.set('file', [aPod('one')]);
  assert.deepEqual(taken(config), ['REMOVE one', 'ADD one']);
  assert.deepEqual(taken(config), []);
  config.set('file', [], new Set(['one' as PodUID]));
  assert.deepEqual(taken(config), ['REMOVE one']);
});

test('a pod with a duplicate name is ignored and gets an event', () => {
  const { config, events } = aPodConfig();
  config.set('file', [aPod('one'), aPod('two')]);
  config.take();
  assert.deepEqual(events, [
    {
      object: { kind: 'Pod', name: 'web', namespace: 'default', uid: 'two' },
      type: 'Warning',
      reason: 'FailedValidation',
      message: 'Error validating pod web_default(two) from file due to duplicate pod name "web", ignoring',
    },
  ]);
});

const named = (name: string, { uid = `uid-${name}`, resourceVersion = '1', phase = 'Pending' } = {}): Pod => ({
  metadata: { name, namespace: 'default', uid, resourceVersion },
  spec: { containers: [] },
  status: { phase },
});
const changes = (...pods: (Pod | PodUID)[]) =>
  new Map(pods.map((pod) => (typeof pod === 'string' ? ([pod, null] as const) : ([podUID(pod), pod] as const))));
const taken = (config: PodConfig) => config.take().map(({ op, pods }) => `${op} ${pods.map(({ metadata }) => metadata.uid).join(' ')}`);
const uids = (names: readonly string[]) => names.map((name) => `uid-${name}`).join(' ');
const gone = (name: string) => `uid-${name}` as PodUID;

test('reported changes are applied, and all other pods stay', () => {
  const { config, reports } = aPodConfig();
  config.set('http', [named('a'), named('b'), named('c')]);
  config.take();
  config.change('http', changes(named('a', { resourceVersion: '2', phase: 'Running' }), gone('b')));
  config.change('http', changes(named('d')));
  assert.equal(reports.count, 3);
  assert.deepEqual(taken(config), ['REMOVE uid-b', 'ADD uid-d', 'RECONCILE uid-a']);
  config.change('http', changes(named('b', { uid: 'uid-2' })));
  assert.deepEqual(taken(config), ['ADD uid-2']);
  config.set('http', []);
  assert.deepEqual(taken(config), ['REMOVE uid-a uid-c uid-d uid-2']);
});

test('a pod that is recreated with another UID is removed before the new pod is added', () => {
  const { config } = aPodConfig();
  config.set('http', [named('a')]);
  config.take();
  config.change('http', changes(named('a', { uid: 'uid-2' }), gone('a')));
  assert.deepEqual(taken(config), ['REMOVE uid-a', 'ADD uid-2']);
});

test('only the newest of several changes of a pod counts', () => {
  const { config } = aPodConfig();
  config.set('http', [named('a')]);
  config.change('http', changes(named('b'), gone('a')));
  assert.deepEqual(taken(config), ['ADD uid-b']);
  config.change('http', changes(named('short')));
  config.change('http', changes(gone('short'), named('b', { resourceVersion: '2' })));
  config.change('http', changes(gone('b')));
  assert.deepEqual(taken(config), ['REMOVE uid-b']);
  assert.throws(() => config.change('file', changes(named('a'))), /reported changes before its pods/);
});

test('the change of one pod reads no other pod, nor does a list of pods with known versions', () => {
  const { config } = aPodConfig();
  let reads = 0;
  const count = <T>(value: T): T => ((reads += 1), value);
  const spec: Pod['spec'] = new Proxy(
    { containers: [] },
    { get: (target, key) => count(Reflect.get(target, key) as unknown), ownKeys: (target) => count(Reflect.ownKeys(target)) },
  );
  const all = Array.from({ length: 500 }, (_, index) => named(`p${index}`));
  config.set(
    'http',
    all.map((pod) => ({ ...pod, spec })),
  );
  config.take();
  reads = 0;
  config.change('http', changes(named('p7', { resourceVersion: '2' })));
  config.take();
  const readsOfOne = reads;
  assert.ok(readsOfOne > 0 && readsOfOne < 20, `${readsOfOne} reads of the specs for one changed pod`);
  config.set('http', [...all.slice(0, 7), named('p7', { resourceVersion: '2' }), ...all.slice(8)]);
  assert.deepEqual(config.take(), []);
  assert.equal(reads, readsOfOne);
});

test('of many updates a part waits for the next take, and starts and ends of other pods do not wait', () => {
  const { config, reports } = aPodConfig();
  const names = Array.from({ length: 25 }, (_, index) => `p${index}`);
  config.set(
    'http',
    names.map((name) => named(name)),
  );
  config.take();
  const updated = (name: string): Pod => ({ ...named(name, { resourceVersion: '2' }), spec: { containers: [], nodeName: 'n1' } });
  config.change('http', changes(...names.map(updated)));
  const before = reports.count;
  assert.deepEqual(taken(config), [`UPDATE ${uids(names.slice(0, 10))}`]);
  assert.equal(reports.count, before + 1);
  const ending = { ...updated('p24'), metadata: { ...updated('p24').metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  config.change('http', changes(named('new'), gone('p23'), ending));
  assert.deepEqual(taken(config), [`REMOVE uid-p23`, 'ADD uid-new', `UPDATE ${uids(names.slice(10, 20))}`, 'DELETE uid-p24']);
  assert.deepEqual(taken(config), [`UPDATE ${uids(names.slice(20, 23))}`]);
  assert.deepEqual(taken(config), []);
});

test('sources are ready when a report of each was handled', () => {
  const ready = new SourcesReady(['file', 'http']);
  let notified = 0;
  ready.onReady(() => (notified += 1));
  ready.addSource('http');
  assert.equal(ready.allReady(), false);
  ready.addSource('file');
  assert.equal(ready.allReady(), true);
  ready.addSource('file');
  assert.equal(notified, 1);
  assert.equal(new SourcesReady([]).allReady(), true);
});
