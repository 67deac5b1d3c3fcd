import assert from 'node:assert/strict';
import { builds, chooseBuilds, inIdleClass, neededBuilds, type Build } from '../../runner/builds.ts';
import { parseCpuTimes } from '../../runner/host-load.ts';
import type { Need } from '../../runner/jobs.ts';
import { table } from '../../support/table.ts';

const aBuild = (name: string, isDownload: boolean): Build => ({ name, provides: [], command: ['true'], isDownload });
const download = aBuild('download', true);
const first = aBuild('first', false);
const second = aBuild('second', false);

const cases: { name: string; waiting: readonly Build[]; running: readonly Build[]; want: readonly Build[] }[] = [
  { name: 'downloads and one other', waiting: [download, first, second], running: [], want: [download, first] },
  { name: 'downloads beside another build', waiting: [download, second], running: [first], want: [download] },
  { name: 'the next build beside a download', waiting: [second], running: [download], want: [second] },
];

table('builds that begin are', (row) => {
  for (const { name, waiting, running, want } of cases) row(name, () => assert.deepEqual(chooseBuilds(waiting, running), want));
});

const namesFor = (...needs: Need[]) => neededBuilds(new Set(needs)).map(({ name }) => name);
table('a run', (row) => {
  row('has no build that no job needs', () => assert.deepEqual(namesFor(), []));
  row('has one build for all programs of clusters', () => assert.deepEqual(namesFor('kubeadm', 'control-plane'), ['programs of clusters']));
  row('has one build for each need', () => {
    const provided = builds.flatMap(({ provides }) => provides);
    assert.equal(new Set(provided).size, provided.length);
  });
  row('starts builds in the idle class', () =>
    assert.deepEqual(inIdleClass(['sh', 'x.sh', 'a']), ['chrt', ['--idle', '0', 'sh', 'x.sh', 'a']]),
  );
  row('counts user, nice, system and interrupt time', () =>
    assert.deepEqual(parseCpuTimes('12.5 20.1\n', 'cpu  100 200 300 4000 5000 60 7 800 0 0\ncpu0 1 2\n'), {
      atSeconds: 12.5,
      busySeconds: 6.67,
    }),
  );
});
