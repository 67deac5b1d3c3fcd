import assert from 'node:assert/strict';
import { levelFor } from '../../../../src/shared/log/verbosity.ts';
import { table } from '../../../support/table.ts';

const cases: { name: string; verbosity?: number; vmodule?: [string, number][]; component?: string; want: string }[] = [
  { name: 'the kubelet logs changes at -v=0', want: 'info' },
  { name: 'the kubelet logs changes at -v=3', verbosity: 3, want: 'info' },
  { name: 'the kubelet logs each call at -v=4', verbosity: 4, want: 'debug' },
  { name: 'the kubelet logs everything from -v=6', verbosity: 6, want: 'trace' },
  { name: 'a pattern raises the verbosity of its component', vmodule: [['pl*', 4]], want: 'debug' },
  { name: 'a pattern that does not match changes nothing', vmodule: [['pl', 4]], want: 'info' },
  { name: 'a question mark stands for one character', vmodule: [['ple?', 6]], want: 'trace' },
  {
    name: 'the first matching pattern counts',
    vmodule: [
      ['pleg', 4],
      ['*', 6],
    ],
    want: 'debug',
  },
  { name: 'a pattern never lowers the verbosity', verbosity: 6, vmodule: [['pleg', 0]], want: 'trace' },
  {
    name: 'other characters of a pattern are literal',
    vmodule: [
      ['p.*g', 6],
      ['p(l|x)eg', 6],
    ],
    want: 'info',
  },
];
table('log level by verbosity', (row) => {
  for (const { name, verbosity = 0, vmodule = [], component = 'pleg', want } of cases) {
    row(name, () => {
      const items = vmodule.map(([pattern, of]) => ({ pattern, verbosity: of }));
      assert.equal(levelFor({ verbosity, vmodule: items }, component), want);
    });
  }
});
