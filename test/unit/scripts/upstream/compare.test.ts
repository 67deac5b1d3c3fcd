import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeDifferences } from '../../../../scripts/upstream/compare/compute-differences.ts';
import { differenceText } from '../../../../scripts/upstream/compare/difference-text.ts';
import type { Things } from '../../../../scripts/upstream/compare/inventory.ts';
import { table } from '../../../support/table.ts';

const things = (values: Readonly<Record<string, string>>, where = 'pkg/a'): Things =>
  Object.fromEntries(Object.entries(values).map(([name, is]) => [name, { is, in: where }]));

const cases: readonly { name: string; before: Things; after: Things; want: readonly object[] }[] = [
  { name: 'nothing for the same things', before: things({ A: '1' }), after: things({ A: '1' }), want: [] },
  { name: 'nothing for a thing that was moved', before: things({ A: '1' }), after: things({ A: '1' }, 'pkg/b'), want: [] },
  {
    name: 'what was added, changed and removed, by name',
    before: things({ C: 'off', A: 'on' }),
    after: things({ C: 'on', B: 'on' }, 'pkg/b'),
    want: [
      { name: 'A', before: 'on', in: 'pkg/a' },
      { name: 'B', after: 'on', in: 'pkg/b' },
      { name: 'C', before: 'off', after: 'on', in: 'pkg/b' },
    ],
  },
  {
    name: 'the new name of a member with the same number in the same type',
    before: things({ 'v1 Signal.SIGTERM': '23', 'v1 Mount.old': 'string = 2', 'v1 Mount.path': 'string = 1' }),
    after: things({ 'v1 Signal.SIGNAL_SIGTERM': '23', 'v1 Mount.new': 'int64 = 2', 'v1 Other.path': 'string = 1' }),
    want: [
      { name: 'v1 Mount.old', renamedTo: 'v1 Mount.new', before: 'string = 2', after: 'int64 = 2', in: 'pkg/a' },
      { name: 'v1 Mount.path', before: 'string = 1', in: 'pkg/a' },
      { name: 'v1 Other.path', after: 'string = 1', in: 'pkg/a' },
      { name: 'v1 Signal.SIGTERM', renamedTo: 'v1 Signal.SIGNAL_SIGTERM', before: '23', after: '23', in: 'pkg/a' },
    ],
  },
];
table('the differences of a kind are', (row) => {
  for (const { name, before, after, want } of cases) {
    row(name, () => assert.deepEqual(computeDifferences({ kind: before }, { kind: after }).get('kind'), want));
  }
});

test('a kind that one version does not have is all different', () => {
  assert.deepEqual([...computeDifferences({ old: things({ A: '1' }) }, {}).keys()], ['old']);
});

test('the text has the counts of each kind, and a table for one with differences', () => {
  const differences = computeDifferences(
    { gates: things({ Gone: 'GA, on', Same: 'Beta, on' }), flags: things({ 'a|b': 'string' }), protobuf: things({ 'v1 S.A': '1' }) },
    {
      gates: things({ New: 'Alpha, off', Same: 'Beta, on' }),
      flags: things({ 'a|b': 'x'.repeat(300) }),
      protobuf: things({ 'v1 S.B': '1' }),
    },
  );
  const text = differenceText('v1.36.3', 'v1.37.2', differences);
  for (const line of [
    '# What differs between Kubernetes v1.36.3 and v1.37.2',
    '| Feature gates | 1 | 0 | 1 |',
    '| Flags | 0 | 1 | 0 |',
    '| Metrics | 0 | 0 | 0 |',
    '| name | v1.36.3 | v1.37.2 | where |',
    '| `Gone` | `GA, on` | – | `pkg/a` |',
    '| `New` | – | `Alpha, off` | `pkg/a` |',
    `| \`a\\|b\` | \`string\` | \`${'x'.repeat(199)}…\` | \`pkg/a\` |`,
    '| `v1 S.A` → `B` | `1` | `1` | `pkg/a` |',
  ]) {
    assert.ok(text.split('\n').includes(line), line);
  }
  assert.ok(!text.includes('## Metrics'));
});
