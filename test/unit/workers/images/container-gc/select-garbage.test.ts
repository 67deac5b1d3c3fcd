import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerGcRequest } from '../../../../../src/shared/contracts/images.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../../../src/shared/kubernetes/ids.ts';
import type { SnapshotItem } from '../../../../../src/shared/state/runtime-snapshot.ts';
import { podLogsRemovable, containersToRemove, sandboxesToRemove } from '../../../../../src/workers/images/container-gc/select-garbage.ts';
import { table } from '../../../../support/table.ts';

/** `app@3 exited`: the third container `app` of pod `p`, created at second 3. */
function container(
  name: string,
  createdAt: number,
  state: SnapshotItem['state'] = 'exited',
  pod = 'p',
  sandbox = `${pod}-s0`,
): SnapshotItem {
  return {
    kind: 'container',
    state,
    attempt: 0,
    createdAtMs: createdAt * 1000,
    id: `${pod}/${name}@${createdAt}` as ContainerID,
    sandboxID: sandbox as SandboxID,
    podUID: pod as PodUID,
    podName: pod,
    podNamespace: 'default',
    containerName: name,
    image: 'busybox',
  };
}

function sandbox(pod: string, attempt: number, state: SnapshotItem['state'] = 'exited'): SnapshotItem {
  const id = `${pod}-s${attempt}` as SandboxID;
  return { ...container('', attempt, state, pod, id), kind: 'sandbox', id, attempt };
}

function request(fields: Partial<ContainerGcRequest> = {}): ContainerGcRequest {
  return {
    requestedAtMs: 1_000_000,
    allSourcesReady: true,
    knownPodUIDs: ['p' as PodUID, 'q' as PodUID],
    removablePodUIDs: [],
    minAgeMs: 0,
    maxPerPodContainer: 1,
    maxContainers: -1,
    ...fields,
  };
}

const containerCases: { name: string; items: SnapshotItem[]; request?: Partial<ContainerGcRequest>; nowMs?: number; want: string[] }[] = [
  {
    name: 'keeps the newest dead container of each name',
    items: [container('a', 1), container('a', 2), container('a', 3), container('b', 1)],
    want: ['p/a@1', 'p/a@2'],
  },
  { name: 'never selects a running container', items: [container('a', 1, 'running'), container('a', 2, 'running')], want: [] },
  {
    name: 'selects a container in unknown state like a dead one',
    items: [container('a', 1, 'unknown'), container('a', 2)],
    want: ['p/a@1'],
  },
  { name: 'selects all containers of a deleted pod', items: [container('a', 1, 'exited', 'gone')], want: ['gone/a@1'] },
  {
    name: 'selects no containers of an unknown pod before every source has reported',
    items: [container('a', 1, 'exited', 'gone')],
    request: { allSourcesReady: false },
    want: [],
  },
  {
    name: 'selects all containers of a known removable pod',
    items: [container('a', 1)],
    request: { removablePodUIDs: ['p' as PodUID] },
    want: ['p/a@1'],
  },
  {
    name: 'selects all containers of a terminated pod when asked to',
    items: [container('a', 1), container('a', 2, 'exited', 'q')],
    request: { terminatedPodUIDs: ['p' as PodUID] },
    want: ['p/a@1'],
  },
  {
    name: 'selects none of a terminated pod before every source has reported',
    items: [container('a', 1)],
    request: { terminatedPodUIDs: ['p' as PodUID], allSourcesReady: false },
    want: [],
  },
  {
    name: 'keeps containers below the minimum age',
    items: [container('a', 1), container('a', 50), container('a', 99)],
    request: { minAgeMs: 60_000 },
    nowMs: 100_000,
    want: [],
  },
  {
    name: 'keeps containers created after the request, because their pod may be new',
    items: [container('a', 70, 'created', 'new'), container('a', 70, 'exited', 'q'), container('a', 9, 'exited', 'gone')],
    request: { requestedAtMs: 60_000, removablePodUIDs: ['q' as PodUID] },
    want: ['gone/a@9'],
  },
  {
    name: 'keeps all containers without a limit',
    items: [container('a', 1), container('a', 2)],
    request: { maxPerPodContainer: -1 },
    want: [],
  },
  { name: 'keeps no containers with a limit of zero', items: [container('a', 1)], request: { maxPerPodContainer: 0 }, want: ['p/a@1'] },
  {
    name: 'divides the total limit among the containers, then selects the oldest',
    items: [container('a', 1), container('a', 2), container('b', 3), container('b', 4), container('c', 5, 'exited', 'q')],
    request: { maxPerPodContainer: -1, maxContainers: 2 },
    want: ['p/a@1', 'p/a@2', 'p/b@3'],
  },
  {
    name: 'keeps one container of each pod rather than two of some',
    items: ['p0', 'p1', 'p2', 'p3', 'p4'].flatMap((pod) => [container('a', 1, 'exited', pod), container('a', 2, 'exited', pod)]),
    request: { maxPerPodContainer: 2, maxContainers: 6, knownPodUIDs: ['p0', 'p1', 'p2', 'p3', 'p4'] as PodUID[] },
    want: ['p0/a@1', 'p1/a@1', 'p2/a@1', 'p3/a@1', 'p4/a@1'],
  },
  {
    name: 'selects the oldest when even one container of each pod is too many',
    items: ['p0', 'p1', 'p2'].flatMap((pod, index) => [container('a', index, 'exited', pod), container('a', index + 10, 'exited', pod)]),
    request: { maxPerPodContainer: 2, maxContainers: 2, knownPodUIDs: ['p0', 'p1', 'p2'] as PodUID[] },
    want: ['p0/a@0', 'p1/a@1', 'p2/a@2', 'p0/a@10'],
  },
  {
    name: 'keeps the last attempt, also when the clock was set back before it',
    items: [
      { ...container('a', 9), attempt: 1 },
      { ...container('a', 5), attempt: 2 },
    ],
    want: ['p/a@9'],
  },
  {
    name: 'keeps no dead container with a total limit of zero',
    items: [container('a', 1), container('a', 2, 'running')],
    request: { maxContainers: 0 },
    want: ['p/a@1'],
  },
  {
    name: 'spares young containers of deleted pods, too',
    items: [container('a', 1, 'exited', 'gone'), container('a', 99, 'exited', 'gone')],
    request: { minAgeMs: 60_000 },
    nowMs: 100_000,
    want: ['gone/a@1'],
  },
];
table('container garbage collection', (row) => {
  for (const { name, items, request: fields, nowMs = 1_000_000, want } of containerCases) {
    row(`container garbage collection ${name}`, () => {
      assert.deepEqual(
        containersToRemove(items, request(fields), nowMs).map(({ id }) => id),
        want,
      );
    });
  }
});

const sandboxCases: { name: string; items: SnapshotItem[]; removed?: string[]; request?: Partial<ContainerGcRequest>; want: string[] }[] = [
  { name: 'keeps a pod’s newest sandbox', items: [sandbox('p', 0), sandbox('p', 1)], want: ['p-s0'] },
  {
    name: 'keeps the last attempt, also when the clock was set back before it',
    items: [
      { ...sandbox('p', 1), createdAtMs: 9000 },
      { ...sandbox('p', 2), createdAtMs: 5000 },
    ],
    want: ['p-s1'],
  },
  { name: 'keeps a sandbox that still has containers', items: [sandbox('p', 0), sandbox('p', 1), container('a', 1)], want: [] },
  {
    name: 'selects a sandbox whose containers were just removed',
    items: [sandbox('p', 0), sandbox('p', 1), container('a', 1)],
    removed: ['p/a@1'],
    want: ['p-s0'],
  },
  { name: 'never selects a ready sandbox', items: [sandbox('p', 0, 'running'), sandbox('p', 1)], want: [] },
  { name: 'selects all sandboxes of a deleted pod', items: [sandbox('gone', 0), sandbox('gone', 1)], want: ['gone-s0', 'gone-s1'] },
  {
    name: 'selects all sandboxes of a terminated pod when asked to',
    items: [sandbox('p', 0), sandbox('q', 0)],
    request: { terminatedPodUIDs: ['p' as PodUID] },
    want: ['p-s0'],
  },
  {
    name: 'keeps a sandbox created after the request',
    items: [sandbox('gone', 0), sandbox('gone', 70)],
    request: { requestedAtMs: 60_000 },
    want: ['gone-s0'],
  },
  {
    name: 'keeps the newest sandbox of an unknown pod before every source has reported',
    items: [sandbox('gone', 0)],
    request: { allSourcesReady: false },
    want: [],
  },
];
table('sandbox garbage collection', (row) => {
  for (const { name, items, removed = [], request: fields, want } of sandboxCases) {
    row(`sandbox garbage collection ${name}`, () => {
      assert.deepEqual(
        sandboxesToRemove(items, new Set(removed), request(fields)).map(({ id }) => id),
        want,
      );
    });
  }
});

test('logs are removable with their pod, unless the pod restarted after the request', () => {
  const items = [container('a', 1, 'exited', 'gone'), container('a', 70, 'exited', 'again'), sandbox('runs', 1, 'running')];
  const lists = { removablePodUIDs: ['again' as PodUID], terminatedPodUIDs: ['p' as PodUID] };
  const may = podLogsRemovable(items, request({ requestedAtMs: 60_000, ...lists }));
  const uids = ['gone', 'never seen', 'again', 'runs', 'p'] as PodUID[];
  assert.deepEqual(uids.filter(may), ['gone', 'never seen']);
});
