import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import type { SnapshotState } from '../../../../../src/shared/state/runtime-snapshot.ts';
import { createEndedCheck } from '../../../../../src/workers/server/logs/ended-containers.ts';
import { table } from '../../../../support/table.ts';

const id = 'c' as ContainerID;
const cases: { name: string; state: SnapshotState | null; relistedAtMs: number; want: boolean }[] = [
  { name: 'a running one has not', state: 'running', relistedAtMs: 20, want: false },
  { name: 'a created one has not', state: 'created', relistedAtMs: 20, want: false },
  { name: 'an exited one has', state: 'exited', relistedAtMs: 20, want: true },
  { name: 'an exited one has, also before the first complete relist', state: 'exited', relistedAtMs: 0, want: true },
  { name: 'one in unknown state has', state: 'unknown', relistedAtMs: 20, want: true },
  { name: 'one that is no longer listed has', state: null, relistedAtMs: 20, want: true },
  { name: 'one that is not listed yet has not', state: null, relistedAtMs: 5, want: false },
  { name: 'one that is not listed has not before the first complete relist', state: null, relistedAtMs: 0, want: false },
];
table('whether a followed container has ended', (row) => {
  for (const { name, state, relistedAtMs, want } of cases) {
    row(`whether a followed container has ended: ${name}`, () => {
      const hasEnded = createEndedCheck({ relistedAtMs, all: () => (state ? [{ kind: 'container', id, state }] : []) });
      assert.equal(hasEnded(id, 10), want);
    });
  }
});

test('a sandbox with the same ID is ignored', () => {
  const hasEnded = createEndedCheck({ relistedAtMs: 5, all: () => [{ kind: 'sandbox', id, state: 'exited' }] });
  assert.equal(hasEnded(id, 10), false);
});
