import assert from 'node:assert/strict';
import { parseHosts } from '../../../../src/shared/dial/parse-hosts.ts';
import { table } from '../../../support/table.ts';

const text = '# comment\n::1 localhost ip6-localhost\n127.0.0.1\tlocalhost # me\n10.0.0.1 a.example B\nnonsense c\n10.0.0.2 b\n';

table('parseHosts', (row) => {
  const cases: readonly [string, string | undefined][] = [
    ['localhost', '127.0.0.1'],
    ['ip6-localhost', '::1'],
    ['b', '10.0.0.1'],
    ['A.EXAMPLE', '10.0.0.1'],
    ['c', undefined],
    ['me', undefined],
    ['10.0.0.1', undefined],
  ];
  for (const [name, want] of cases) row(name, () => assert.equal(parseHosts(text, name), want));
});
