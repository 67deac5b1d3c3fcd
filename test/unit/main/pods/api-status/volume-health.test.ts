/** When the health of a volume changes the status of its pod. */
import assert from 'node:assert/strict';
import { withVolumeHealth } from '../../../../../src/main/pods/api-status/volume-health.ts';
import type { PodVolumeHealth, VolumeHealthCondition } from '../../../../../src/shared/kubernetes/api.ts';
import { table } from '../../../../support/table.ts';

const slow: VolumeHealthCondition = { status: 'Degraded', reason: 'SlowPath', message: 'one of two paths' };
const lost: VolumeHealthCondition = { status: 'DataLoss', reason: 'BadBlocks' };
const now = '2026-11-29T05:00:00Z';
const before = '2026-11-29T04:00:00Z';
const data: PodVolumeHealth = { name: 'data', healthConditions: [slow, lost], lastTransitionTime: before };
const logs: PodVolumeHealth = { name: 'logs', healthConditions: [], lastTransitionTime: before };
const health = [data, logs];

table('the health of a volume in the status', (row) => {
  const unchanged: [name: string, health: PodVolumeHealth[] | undefined, volume: string, conditions: VolumeHealthCondition[]][] = [
    ['of a healthy volume is not shown', undefined, 'data', []],
    ['of a healthy volume is not shown beside others', health, 'cache', []],
    ['of a volume that is still healthy', health, 'logs', []],
    ['with another message', health, 'data', [{ ...slow, message: 'still one of two' }, lost]],
    ['in another order', health, 'data', [lost, slow]],
    ['twice the same condition', health, 'data', [slow, lost, slow]],
    ['written by a server that omits empty lists', [{ name: 'data', lastTransitionTime: before }], 'data', []],
  ];
  for (const [name, list, volume, conditions] of unchanged)
    row(`${name}: no change`, () => assert.equal(withVolumeHealth(list, volume, conditions, now), list));

  const changed: [name: string, health: PodVolumeHealth[] | undefined, conditions: VolumeHealthCondition[], want: PodVolumeHealth[]][] = [
    ['of the first unhealthy volume', undefined, [slow], [{ name: 'data', healthConditions: [slow], lastTransitionTime: now }]],
    ['beside another volume', [logs], [slow], [logs, { name: 'data', healthConditions: [slow], lastTransitionTime: now }]],
    [
      'with another reason',
      health,
      [{ ...slow, reason: 'Other' }, lost],
      [{ ...data, healthConditions: [{ ...slow, reason: 'Other' }, lost], lastTransitionTime: now }, logs],
    ],
    [
      'with another status',
      health,
      [slow, { ...lost, status: 'Inaccessible' }],
      [{ ...data, healthConditions: [slow, { ...lost, status: 'Inaccessible' }], lastTransitionTime: now }, logs],
    ],
    ['with one condition less', health, [lost], [{ ...data, healthConditions: [lost], lastTransitionTime: now }, logs]],
    ['of a volume that is healthy again', health, [], [{ ...data, healthConditions: [], lastTransitionTime: now }, logs]],
  ];
  for (const [name, list, conditions, want] of changed)
    row(`${name}: a change`, () => assert.deepEqual(withVolumeHealth(list, 'data', conditions, now), want));

  row('stays as it is when all volumes would have too long texts', () => {
    const conditions = Array.from({ length: 16 }, (_, index) => ({ ...slow, reason: `Reason${index}`, message: '\u0000'.repeat(1024) }));
    const first = withVolumeHealth(undefined, 'v0', conditions, now);
    const second = withVolumeHealth(first, 'v1', conditions, now);
    assert.equal(first?.length, 1);
    assert.equal(second?.length, 2);
    assert.equal(withVolumeHealth(second, 'v2', conditions, now), second);
    assert.equal(withVolumeHealth(second, 'v2', [slow], now)?.length, 3);
  });
});
