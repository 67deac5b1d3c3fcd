import assert from 'node:assert/strict';
import { restartCountFromLogs } from '../../../../../../src/workers/pod-sync/pod/start/container-log-folder.ts';
import { table } from '../../../../../support/table.ts';

const cases: { name: string; files: string[]; want: number }[] = [
  { name: 'no log', files: [], want: 0 },
  { name: 'the first log', files: ['0.log'], want: 1 },
  { name: 'the highest number wins', files: ['3.log', '10.log', '2.log'], want: 11 },
  { name: 'a rotated log counts', files: ['4.log.20260101-000000', '5.log.20260101-000000.gz'], want: 6 },
  { name: 'other files do not count', files: ['readme', 'a1.log', '1.txt', '99999999999999999999.log'], want: 0 },
];
table('the restart count from the log files', (row) => {
  for (const { name, files, want } of cases) {
    row(`the restart count from the log files: ${name}`, () => assert.equal(restartCountFromLogs(files), want));
  }
});
