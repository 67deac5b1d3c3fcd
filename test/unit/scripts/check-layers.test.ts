import assert from 'node:assert/strict';
import { checkLayers } from '../../../scripts/imports/check-layers.ts';
import type { Import } from '../../../scripts/imports/find-imports.ts';
import type { LayeredTree } from '../../../scripts/imports/layers.ts';
import { table } from '../../support/table.ts';

const layers: LayeredTree = {
  root: 'src/main',
  maxShare: 0.5,
  layers: [
    { name: 'top', rooms: ['kubelet.ts'] },
    { name: 'middle', rooms: ['pods', 'status'] },
    { name: 'ground', rooms: ['config'] },
  ],
  exceptions: [],
};
const files = ['src/main/kubelet.ts', 'src/main/pods/a.ts', 'src/main/status/b.ts', 'src/main/config/c.ts', 'src/shared/d.ts'];
const arrow = (from: string, to: string): Import => ({ from: `src/main/${from}`, to: `src/main/${to}` });
const exception = (reason: string) => [{ from: 'config', to: 'pods', reason }];

const cases: { name: string; tree?: Partial<LayeredTree>; files?: string[]; imports?: Import[]; want: readonly RegExp[] }[] = [
  { name: 'a downward arrow', imports: [arrow('kubelet.ts', 'config/c.ts')], want: [] },
  { name: 'an arrow within a room', imports: [arrow('pods/a.ts', 'pods/e.ts')], want: [] },
  { name: 'an arrow to another tree', imports: [{ from: 'src/main/config/c.ts', to: 'src/shared/d.ts' }], want: [] },
  {
    name: 'an upward arrow',
    imports: [arrow('config/c.ts', 'pods/a.ts')],
    want: [/^src\/main\/config\/c.ts: imports src\/main\/pods\/a.ts upwards: the layer "middle" is above "ground"$/],
  },
  {
    name: 'an arrow to a room of the same layer',
    imports: [arrow('pods/a.ts', 'status/b.ts')],
    want: [/another room in the layer "middle"$/],
  },
  { name: 'an exception', tree: { exceptions: exception('the reason') }, imports: [arrow('config/c.ts', 'pods/a.ts')], want: [] },
  {
    name: 'an exception without a reason',
    tree: { exceptions: exception('') },
    imports: [arrow('config/c.ts', 'pods/a.ts')],
    want: [/has no reason$/],
  },
  { name: 'an exception that no import needs', tree: { exceptions: exception('the reason') }, want: [/remove the exception$/] },
  { name: 'a room in no layer', files: [...files, 'src/main/new/e.ts'], want: [/^src\/main\/new is in no layer/] },
  {
    name: 'a layer of a room that is gone',
    files: files.slice(0, 3),
    want: [/^src\/main\/config is in a layer and does not exist$/, /2 of 3/],
  },
  { name: 'a layer with too many files', tree: { maxShare: 0.4 }, want: [/^src\/main: the layer "middle" has 2 of 4 files: split it$/] },
];

table('layers of a tree', (row) => {
  for (const { name, tree, files: present = files, imports = [], want } of cases)
    row(name, () => {
      const { problems } = checkLayers({ ...layers, ...tree }, present, imports);
      assert.equal(problems.length, want.length, problems.join('\n'));
      for (const [index, pattern] of want.entries()) assert.match(problems[index]!, pattern);
    });
  row('the report counts arrows by layer', () => {
    const { lines } = checkLayers(layers, files, [arrow('kubelet.ts', 'config/c.ts'), arrow('kubelet.ts', 'pods/a.ts')]);
    assert.deepEqual(lines, [
      'src/main: top (25% of files) → middle 1, ground 1',
      'src/main: middle (50% of files) → nothing',
      'src/main: ground (25% of files) → nothing',
    ]);
  });
});
