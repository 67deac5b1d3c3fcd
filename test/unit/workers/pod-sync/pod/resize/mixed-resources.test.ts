import assert from 'node:assert/strict';
import { mixedRequirements } from '../../../../../../src/workers/pod-sync/pod/resize/mixed-resources.ts';
import { table } from '../../../../../support/table.ts';

const before = { requests: { cpu: '1', memory: '1Gi' }, limits: { memory: '1Gi' } };
const after = { requests: { cpu: '2', memory: '2Gi', 'hugepages-2Mi': '4Mi' }, limits: { memory: '2Gi', 'hugepages-2Mi': '4Mi' } };

table(
  'in the middle of a resize, what can be resized is that of before until it is in force; anything else is what was allocated',
  (row) => {
    // The record of a Go kubelet has no huge pages.
    const hugePages = { 'hugepages-2Mi': '4Mi' };
    row('nothing', () =>
      assert.deepEqual(mixedRequirements(before, after, new Set()), {
        requests: { cpu: '1', memory: '1Gi', ...hugePages },
        limits: { memory: '1Gi', ...hugePages },
      }),
    );
    row('memory', () =>
      assert.deepEqual(mixedRequirements(before, after, new Set(['memory'])), {
        requests: { cpu: '1', memory: '2Gi', ...hugePages },
        limits: { memory: '2Gi', ...hugePages },
      }),
    );
    row('a CPU limit that is gone', () =>
      assert.deepEqual(mixedRequirements({ limits: { cpu: '1' } }, { requests: { cpu: '1' } }, new Set(['cpu'])), {
        requests: { cpu: '1' },
      }),
    );
  },
);
