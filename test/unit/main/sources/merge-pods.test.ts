import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergePods, type PodsByUID, type PodUpdate } from '../../../../src/main/sources/merge-pods.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { table } from '../../../support/table.ts';

type Fields = { metadata?: Partial<Pod['metadata']>; spec?: Partial<Pod['spec']>; status?: Pod['status'] };
function aPod(name: string, { metadata = {}, spec = {}, status = { phase: 'Pending' } }: Fields = {}): Pod {
  return { metadata: { name, namespace: 'default', uid: `uid-${name}`, ...metadata }, spec: { containers: [], ...spec }, status };
}
const merge = (known: PodsByUID, pods: readonly Pod[]) => mergePods(known, 'file', pods, '2026-01-01T00:00:00.000Z');
const known = (...pods: Pod[]) => merge(new Map(), pods).pods;
const summary = (updates: readonly PodUpdate[]) =>
  updates.map(({ op, pods }) => `${op} ${pods.map(({ metadata }) => metadata.uid).join(' ')}`);

const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 5 };
const cases: readonly { name: string; before: Pod[]; now: Pod[]; want: string[] }[] = [
  { name: 'a new pod is added', before: [], now: [aPod('a')], want: ['ADD uid-a'] },
  { name: 'an unchanged pod causes no update', before: [aPod('a')], now: [aPod('a')], want: [] },
  { name: 'a changed spec is an update', before: [aPod('a')], now: [aPod('a', { spec: { hostname: 'x' } })], want: ['UPDATE uid-a'] },
  {
    name: 'a changed label is an update',
    before: [aPod('a')],
    now: [aPod('a', { metadata: { labels: { a: 'b' } } })],
    want: ['UPDATE uid-a'],
  },
  {
    name: 'a changed annotation is an update',
    before: [aPod('a')],
    now: [aPod('a', { metadata: { annotations: { a: 'b' } } })],
    want: ['UPDATE uid-a'],
  },
  {
    name: "the kubelet's own annotations change nothing",
    before: [aPod('a')],
    now: [aPod('a', { metadata: { annotations: { 'kubernetes.io/config.seen': 'x', 'kubernetes.io/config.mirror': 'y' } } })],
    want: [],
  },
  { name: 'a deletion timestamp is a delete', before: [aPod('a')], now: [aPod('a', { metadata: deleting })], want: ['DELETE uid-a'] },
  {
    name: 'a changed status is a reconcile',
    before: [aPod('a')],
    now: [aPod('a', { status: { phase: 'Running' } })],
    want: ['RECONCILE uid-a'],
  },
  {
    name: 'a changed spec and status is an update only',
    before: [aPod('a')],
    now: [aPod('a', { status: { phase: 'Running' }, spec: { hostname: 'x' } })],
    want: ['UPDATE uid-a'],
  },
  { name: 'a missing pod is removed', before: [aPod('a'), aPod('b')], now: [aPod('b')], want: ['REMOVE uid-a'] },
  {
    name: 'a recreated pod is removed before it is added',
    before: [aPod('a')],
    now: [aPod('a', { metadata: { uid: 'uid-2' } })],
    want: ['REMOVE uid-a', 'ADD uid-2'],
  },
  {
    name: 'each operation occurs once, in order',
    before: [aPod('a'), aPod('b'), aPod('c')],
    now: [aPod('a', { status: { phase: 'Running' } }), aPod('b', { spec: { hostname: 'x' } }), aPod('d'), aPod('e')],
    want: ['REMOVE uid-c', 'ADD uid-d uid-e', 'UPDATE uid-b', 'RECONCILE uid-a'],
  },
];
table('the pods of a source are merged with the known pods', (row) => {
  for (const { name, before, now, want } of cases) {
    row(name, () => assert.deepEqual(summary(merge(known(...before), now).updates), want));
  }
});

test('a pod is annotated with its source and the time at which it was first seen', () => {
  const [first] = merge(new Map(), [aPod('a')]).updates[0]?.pods ?? [];
  const stamps = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.seen': '2026-01-01T00:00:00.000Z' };
  assert.deepEqual(first?.metadata.annotations, stamps);
  const later = mergePods(known(aPod('a')), 'file', [aPod('a', { metadata: { annotations: { note: 'x' } } })], '2027-01-01T00:00:00.000Z');
  assert.deepEqual(later.updates[0]?.pods[0]?.metadata.annotations, { note: 'x', ...stamps });
});

test('an update drops removed labels and keeps immutable metadata', () => {
  const before = known(aPod('a', { metadata: { labels: { a: 'b' }, creationTimestamp: '2026-01-01T00:00:00Z' } }));
  const { pods } = merge(before, [aPod('a', { metadata: { generation: 2 } })]);
  const metadata = [...pods.values()][0]?.metadata;
  assert.equal(metadata?.labels, undefined);
  assert.equal(metadata?.generation, 2);
  assert.equal(metadata?.creationTimestamp, '2026-01-01T00:00:00Z');
});

test('the second of two pods with one name is ignored', () => {
  const { updates, duplicates } = merge(new Map(), [
    aPod('a'),
    aPod('a', { metadata: { uid: 'uid-2' } }),
    aPod('a', { metadata: { uid: 'uid-3', namespace: 'other' } }),
  ]);
  assert.deepEqual(summary(updates), ['ADD uid-a uid-3']);
  assert.deepEqual(
    duplicates.map(({ metadata }) => metadata.uid),
    ['uid-2'],
  );
});

test('a merge does not modify the known pods', () => {
  const before = known(aPod('a'));
  const pod = [...before.values()][0];
  const copy = structuredClone(pod);
  merge(before, [aPod('a', { spec: { hostname: 'x' }, status: { phase: 'Running' } })]);
  assert.deepEqual(pod, copy);
});
