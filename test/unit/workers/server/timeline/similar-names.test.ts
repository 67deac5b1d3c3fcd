import assert from 'node:assert/strict';
import { similarNames } from '../../../../../src/workers/server/timeline/similar-names.ts';
import { table } from '../../../../support/table.ts';

const names = new Set(['default/web-7f5d9-abcde', 'default/web-7f5d9-fghij', 'kube-system/dns', 'default/database', 'default/db-0']);
const cases: [name: string, wanted: string, want: string[]][] = [
  ['the pod is in another namespace', 'default/dns', ['kube-system/dns']],
  ['a part of the name', 'default/web', ['default/web-7f5d9-abcde', 'default/web-7f5d9-fghij']],
  ['a wrong character', 'default/databasw', ['default/database']],
  ['an old pod of a deployment', 'default/web-7f5d9-zzzzz', ['default/web-7f5d9-abcde', 'default/web-7f5d9-fghij']],
  ['nothing similar', 'other/nginx', []],
  ['an empty name', 'default/', []],
];

table('names that a user may have meant', (row) => {
  for (const [name, wanted, want] of cases) row(name, () => assert.deepEqual(similarNames(wanted, names), want));
  row('at most five', () =>
    assert.equal(similarNames('default/web', new Set(Array.from({ length: 100 }, (_, index) => `default/web-${index}`))).length, 5),
  );
  row('ten thousand long names take no second', () => {
    const many = new Set(Array.from({ length: 10_000 }, (_, index) => `${'n'.repeat(63)}/${'p'.repeat(240)}-${index}`));
    assert.equal(similarNames(`${'n'.repeat(63)}/${'p'.repeat(239)}`, many).length, 5);
  });
});
