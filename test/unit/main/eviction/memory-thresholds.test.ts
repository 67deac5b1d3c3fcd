import assert from 'node:assert/strict';
import type { MemoryThreshold } from '../../../../src/shared/contracts/stats.ts';
import { memoryThresholds } from '../../../../src/main/eviction/memory-thresholds.ts';
import { table } from '../../../support/table.ts';

const hundredMi = { bytes: 100 * 2 ** 20 };
interface Case {
  readonly name: string;
  readonly hard?: Record<string, string>;
  readonly soft?: Record<string, string>;
  readonly enforce?: string[];
  readonly want: MemoryThreshold[];
}

const cases: Case[] = [
  { name: 'none', hard: {}, want: [] },
  { name: 'other signals', hard: { 'nodefs.available': '10%', 'pid.available': '5%' }, want: [] },
  {
    name: 'a hard one of the node is one of the pods too',
    hard: { 'memory.available': '100Mi' },
    want: [
      { scope: 'node', available: hundredMi },
      { scope: 'pods', available: hundredMi },
    ],
  },
  {
    name: 'without enforced limits of the pods',
    hard: { 'memory.available': '100Mi' },
    enforce: ['none'],
    want: [{ scope: 'node', available: hundredMi }],
  },
  { name: 'a soft one is of the node', soft: { 'memory.available': '12.5%' }, want: [{ scope: 'node', available: { fraction: 0.125 } }] },
  {
    name: 'both of the pods',
    hard: { 'allocatableMemory.available': '10%' },
    soft: { 'allocatableMemory.available': '100Mi' },
    want: [
      { scope: 'pods', available: { fraction: 0.1 } },
      { scope: 'pods', available: hundredMi },
    ],
  },
  { name: '0% and 100% mean none', hard: { 'memory.available': '0%' }, soft: { 'memory.available': '100%' }, want: [] },
];

table('the eviction thresholds of memory', (row) => {
  for (const { name, hard = {}, soft = {}, enforce = ['pods'], want } of cases) {
    row(name, () => assert.deepEqual(memoryThresholds({ evictionHard: hard, evictionSoft: soft, enforceNodeAllocatable: enforce }), want));
  }
});
