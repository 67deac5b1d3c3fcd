import assert from 'node:assert/strict';
import { increasesRequests, inOrder } from '../../../../../src/main/allocation/resize/order.ts';
import { table } from '../../../../support/table.ts';
import { aContainer, aPod } from '../../../../support/pods/pods.ts';

const podOf = (name: string, cpu: string, { limit, priority }: { limit?: string | undefined; priority?: number | undefined } = {}) =>
  aPod({
    metadata: { name, uid: name },
    spec: {
      containers: [
        aContainer({ resources: { requests: { cpu, memory: '1Gi' }, ...(limit && { limits: { cpu: limit, memory: '1Gi' } }) } }),
      ],
      ...(priority !== undefined && { priority }),
    },
  });

interface Pending {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly guaranteed?: boolean;
  readonly priority?: number;
  readonly sinceMs?: number;
}
const rows: { name: string; pending: Pending[]; want: string }[] = [
  {
    name: 'those that increase nothing come first',
    pending: [
      { name: 'important', from: '1', to: '2', priority: 1000, sinceMs: 1 },
      { name: 'less', from: '2', to: '1', sinceMs: 5 },
    ],
    want: 'less important',
  },
  {
    name: 'then the most important ones',
    pending: [
      { name: 'normal', from: '1', to: '2', sinceMs: 1 },
      { name: 'important', from: '1', to: '2', priority: 1000, sinceMs: 5 },
    ],
    want: 'important normal',
  },
  {
    name: 'then Guaranteed pods',
    pending: [
      { name: 'burstable', from: '1', to: '2', sinceMs: 1 },
      { name: 'guaranteed', from: '1', to: '2', guaranteed: true, sinceMs: 5 },
    ],
    want: 'guaranteed burstable',
  },
  {
    name: 'then those that wait longest; new ones come last',
    pending: [
      { name: 'new', from: '1', to: '2' },
      { name: 'late', from: '1', to: '2', sinceMs: 5 },
      { name: 'early', from: '1', to: '2', sinceMs: 1 },
    ],
    want: 'early late new',
  },
];

table('the order of pending resizes', (row) => {
  for (const { name, pending, want } of rows) {
    row(name, () => {
      const resizes = pending.map(({ from, to, guaranteed, ...one }) => ({
        pod: podOf(one.name, to, { limit: guaranteed ? to : undefined, priority: one.priority }),
        allocated: podOf(one.name, from, { limit: guaranteed ? from : undefined, priority: one.priority }),
        sinceMs: one.sinceMs,
      }));
      assert.equal(
        inOrder(resizes, true)
          .map(({ pod }) => pod.metadata.name)
          .join(' '),
        want,
      );
    });
  }
});

table('whether a resize increases a request', (row) => {
  for (const [from, to, want] of [
    ['1', '2', true],
    ['2', '1', false],
    ['1', '1000m', false],
  ] as const)
    row(`${from} to ${to}`, () => assert.equal(increasesRequests(podOf('a', to), podOf('a', from), true), want));
});
