import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPriorityWarnings, staticPriorityWarning } from '../../../../src/main/sources/static-priority.ts';
import type { PodSpec } from '../../../../src/shared/kubernetes/api.ts';
import { aLogger } from '../../../support/logger.ts';
import { aPod } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';

const cases: readonly [name: string, spec: Partial<PodSpec>, want: RegExp | null][] = [
  ['no priority', {}, null],
  ['a class alone', { priorityClassName: 'system-node-critical' }, /^Static pod has priorityClassName and nil priority\./],
  ['a priority alone', { priority: 5 }, /^Static pod has priority without priorityClassName\./],
  ['the critical ones', { priority: 2_000_001_000, priorityClassName: 'system-node-critical' }, null],
  [
    'another class',
    { priority: 2_000_000_000, priorityClassName: 'system-cluster-critical' },
    /^Static pod has a priority other than 2000001000 or /,
  ],
];
table('priorities of a static pod', (row) => {
  for (const [name, spec, want] of cases) {
    row(name, () => {
      const warning = staticPriorityWarning(aPod({ spec }));
      if (want === null) assert.equal(warning, null);
      else assert.match(warning ?? '', want);
    });
  }
});

test('each warning is logged once', () => {
  const { logger, lines } = aLogger();
  const warn = createPriorityWarnings(logger);
  const pods = [aPod({ spec: { priority: 5 } }), aPod({ spec: { priority: 6 } })];
  warn(pods);
  warn(pods);
  assert.equal(lines.length, 1);
});
