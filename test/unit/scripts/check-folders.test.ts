import assert from 'node:assert/strict';
import { checkFolders } from '../../../scripts/imports/check-folders.ts';
import { table } from '../../support/table.ts';

const loader = 'src/main/config-reload/loader-thread.ts';

const cases: { name: string; from: string; to: string; want: RegExp | null }[] = [
  { name: 'within a worker', from: 'src/workers/pleg/index.ts', to: 'src/workers/pleg/relist/relist.ts', want: null },
  { name: 'from a worker to shared', from: 'src/workers/pleg/index.ts', to: 'src/shared/a.ts', want: null },
  {
    name: 'from a worker to another',
    from: 'src/workers/pleg/index.ts',
    to: 'src/workers/stats/a.ts',
    want: /^src\/workers\/pleg\/index.ts: imports src\/workers\/stats\/a.ts: src\/workers\/pleg may import from src\/shared and itself only$/,
  },
  { name: 'from main to a worker', from: 'src/main/cli.ts', to: 'src/workers/stats/a.ts', want: /src\/main may import/ },
  { name: 'from the loader thread to the configuration', from: loader, to: 'src/main/config/options.ts', want: null },
  {
    name: 'from the loader thread to another room of main',
    from: loader,
    to: 'src/main/config-reload/config-reload.ts',
    want: /loader-thread.ts may import from src\/main\/config, src\/shared and itself only$/,
  },
  { name: 'from shared to main', from: 'src/shared/a.ts', to: 'src/main/cli.ts', want: /src\/shared may import from itself only$/ },
  { name: 'from the product to the lab', from: 'src/main/cli.ts', to: 'lab/host/cgroups.ts', want: /src\/main may import/ },
  { name: 'from the lab to shared', from: 'lab/host/cgroups.ts', to: 'src/shared/a.ts', want: null },
  { name: 'from the lab to main', from: 'lab/host/cgroups.ts', to: 'src/main/cli.ts', want: /lab may import/ },
  { name: 'from the lab to tests', from: 'lab/kubelet/a.ts', to: 'test/support/logger.ts', want: /lab may import/ },
  { name: 'from the lab to a command', from: 'lab/kubelet/a.ts', to: 'scripts/check-imports.ts', want: /lab may import/ },
  { name: 'from a benchmark to the lab', from: 'bench/idle.ts', to: 'lab/kubelet/a.ts', want: null },
  { name: 'from a benchmark to a test', from: 'bench/idle.ts', to: 'test/e2e/up.test.ts', want: /bench may import/ },
  { name: 'from a command to a benchmark', from: 'scripts/cache.ts', to: 'bench/idle.ts', want: /scripts may import/ },
  { name: 'from a test to anything', from: 'test/unit/a.test.ts', to: 'bench/idle.ts', want: null },
  { name: 'from a new folder', from: 'src/new/a.ts', to: 'src/shared/a.ts', want: /is in no folder of/ },
];

table('imports between folders', (row) => {
  for (const { name, from, to, want } of cases)
    row(name, () => {
      const problems = checkFolders([{ from, to }]);
      assert.equal(problems.length, want === null ? 0 : 1, problems.join('\n'));
      if (want !== null) assert.match(problems[0]!, want);
    });
});
