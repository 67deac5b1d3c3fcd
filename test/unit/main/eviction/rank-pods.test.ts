import assert from 'node:assert/strict';
import type { EvictionSignal } from '../../../../src/shared/contracts/eviction.ts';
import type { PodStats } from '../../../../src/main/eviction/pod-stats.ts';
import { rankPods } from '../../../../src/main/eviction/rank-pods.ts';
import { aPod } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';

const nothing = { containers: [], volumes: [] };
const stats: Readonly<Record<string, PodStats | undefined>> = {
  bomb: { ...nothing, memoryBytes: 5, processes: 2000 },
  quiet: { ...nothing, memoryBytes: 5, processes: 3 },
  // The bomb has ended its container.
  broken: { ...nothing, processes: 2, onlyProcesses: true },
  unknown: undefined,
};
const pods = Object.keys(stats).map((name) => aPod({ metadata: { name } }));
const oneFilesystem = { dedicatedImageFs: false, splitContainerFs: false };

const order = (signal: EvictionSignal) =>
  rankPods(signal, pods, ({ metadata }) => stats[metadata.name], oneFilesystem).map(({ pod }) => pod.metadata.name);

table('the order of pods for eviction', (row) => {
  row('is that of their processes, whether or not a container runs', () =>
    assert.deepEqual(order('pid.available'), ['unknown', 'bomb', 'quiet', 'broken']),
  );
  row('has pods without a running container first for memory', () =>
    assert.deepEqual(order('memory.available'), ['broken', 'unknown', 'bomb', 'quiet']),
  );
});
