import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodLists, portionLength, type PodList } from '../../../../src/main/server/pod-lists.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { aLogger } from '../../../support/logger.ts';
import { podListOf } from '../../../support/server/pod-list.ts';

/** Pods whose JSON has about these lengths. Null: gone since the UIDs were listed. */
function listOf(lengths: Readonly<Record<string, number | null>>): PodList {
  return {
    uids: () => Object.keys(lengths) as PodUID[],
    find: () => (uid) => {
      const length = lengths[uid];
      return typeof length === 'number' ? { metadata: { uid }, text: 'x'.repeat(length) } : undefined;
    },
  };
}
const portionsOf = (list: PodList) => {
  const lists = new PodLists({ pods: list, runningPods: list, allocatedPods: list }, aLogger().logger);
  const uids = lists.uids('pods');
  const taken: number[] = [];
  for (let at = 0; at < uids.length; at += taken.at(-1)!) taken.push(lists.items('pods', uids.slice(at)).taken);
  return taken;
};

test('small pods share a portion, and a long pod ends one', () => {
  assert.deepEqual(portionsOf(listOf({ a: 10, b: 10, c: 10 })), [3]);
  assert.deepEqual(portionsOf(listOf({ a: 10, b: 2 * portionLength, c: 2 * portionLength, d: 10 })), [2, 1, 1]);
  assert.deepEqual(portionsOf(listOf({})), []);
});

test('pods that are gone have no item', () => {
  const list = listOf({ a: null, b: 10, c: null, d: portionLength, e: null });
  assert.deepEqual(
    podListOf(list, aLogger().logger).map(({ metadata }) => metadata.uid),
    ['b', 'd'],
  );
});
