import assert from 'node:assert/strict';
import { test } from 'node:test';
import { valueFields } from '../../../../src/shared/state/usage-fields.ts';
import { createUsageTable, UsageReader, UsageWriter, type UsageValues } from '../../../../src/shared/state/usage-table.ts';
import { anIdentity } from '../../../support/usage.ts';

const valueOf = { f64: (index: number) => index + 0.5, i64: BigInt, text: (index: number) => `[${index}]` };
const someValues = (first: number) =>
  Object.fromEntries(
    Object.entries(valueFields)
      .filter(([name]) => name !== 'identityVersion')
      .map(([name, { kind }], index) => [name, valueOf[kind as keyof typeof valueOf](first + index)]),
  ) as unknown as UsageValues;

test('a reader gets each value of each cgroup as it was written', () => {
  const buffer = createUsageTable(1);
  const writer = new UsageWriter(buffer);
  for (const [path, first] of [['/a', 1] as const, ['/b', 1000] as const]) writer.put(writer.add(anIdentity({ path })), someValues(first));
  const read = new UsageReader(buffer).all().map(({ identity, values }) => [identity.path, { ...values, identityVersion: 0 }]);
  assert.deepEqual(read, [
    ['/a', { ...someValues(1), identityVersion: 0 }],
    ['/b', { ...someValues(1000), identityVersion: 0 }],
  ]);
});
