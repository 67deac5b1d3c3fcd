import assert from 'node:assert/strict';
import { checkTree } from '../../../scripts/tree/check-tree.ts';
import { table } from '../../support/table.ts';

const folders = [
  'src',
  'src/main',
  'src/main/pods',
  'src/main/pods/status',
  'src/main/pods/status/deep',
  'src/shared',
  'src/shared/cri',
  'test',
];
const tree = [
  'src/main/            the main thread',
  '  cli.ts, pods/      all pods; status/: what `api/` shows,',
  '                     on a second line with more/',
  'src/shared/          what several threads import',
  '  cri/               the runtime',
  'test/                e2e and unit',
];
const without = (name: string) => tree.map((line) => line.replace(name, '')).join('\n');

table('folders and the tree', (row) => {
  row('each is named', () => assert.deepEqual(checkTree(folders, tree.join('\n')), []));
  row('a line is missing', () =>
    assert.deepEqual(checkTree(folders, tree.toSpliced(4, 1).join('\n')), ['the tree does not name src/shared/cri']),
  );
  row('a folder is missing in the text', () =>
    assert.deepEqual(checkTree(folders, without('; status/:')), ['the tree does not name src/main/pods/status']),
  );
  row('a folder is gone', () =>
    assert.deepEqual(
      checkTree(
        folders.filter((path) => !path.startsWith('src/main/pods/status')),
        tree.join('\n'),
      ),
      ['the tree names src/main/pods/status/, which does not exist'],
    ),
  );
  row('generated code needs no name', () => assert.deepEqual(checkTree([...folders, 'src/shared/generated'], tree.join('\n')), []));
});
