import assert from 'node:assert/strict';
import { foldersOf } from '../../../../src/main/config-reload/watched-paths.ts';
import { table } from '../../../support/table.ts';

const cases: { name: string; path: string; links?: Record<string, string>; want: Record<string, string[]> }[] = [
  { name: 'a file', path: '/etc/kubelet/config.yaml', want: { '/etc/kubelet': ['config.yaml'] } },
  { name: 'a file in the root', path: '/config.yaml', want: { '/': ['config.yaml'] } },
  {
    name: 'a ConfigMap: a link through a link that is swapped',
    path: '/cm/config.yaml',
    links: { '/cm/config.yaml': '..data/config.yaml', '/cm/..data': '..2026' },
    want: { '/cm': ['config.yaml', '..data'], '/cm/..2026': ['config.yaml'] },
  },
  {
    name: 'a link to another folder',
    path: '/etc/k/config.yaml',
    links: { '/etc/k/config.yaml': '/opt/config.yaml' },
    want: { '/etc/k': ['config.yaml'], '/opt': ['config.yaml'] },
  },
  { name: 'a folder that is a link', path: '/run/k', links: { '/run': 'data/run' }, want: { '/': ['run'], '/data/run': ['k'] } },
];

table('the folders of a path are those of its links and of its target', (row) => {
  for (const { name, path, links = {}, want } of cases) {
    row(name, async () => {
      const found = await foldersOf(path, async (link) => links[link] ?? Promise.reject(new Error('EINVAL')));
      assert.deepEqual(Object.fromEntries(Array.from(found, ([folder, names]) => [folder, [...(names ?? [])]])), want);
    });
  }
  row('a link to itself ends', async () => {
    const found = await foldersOf('/loop', async () => 'loop');
    assert.deepEqual([...found.keys()], ['/']);
  });
});
