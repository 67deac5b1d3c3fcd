import assert from 'node:assert/strict';
import { computeNextReadMs, type ExitedStatus } from '../../../../../src/workers/pleg/inspection/exit-report.ts';
import { table } from '../../../../support/table.ts';

const rows: readonly [name: string, status: ExitedStatus, seenForMs: number, want: number][] = [
  ['success is final', { exitCode: 0, reason: 'Completed' }, 0, 0],
  ['an error is final', { exitCode: 1, reason: 'Error' }, 0, 0],
  ['a kill for memory is final', { exitCode: 137, reason: 'OOMKilled' }, 0, 0],
  ['a kill is read again', { exitCode: 137, reason: 'Error' }, 0, 100],
  ['a kill is read a third time', { exitCode: 137, reason: 'Error' }, 100, 900],
  ['another inspection meanwhile does not make a kill final', { exitCode: 137, reason: 'Error' }, 400, 600],
  ['a kill is final after a second', { exitCode: 137, reason: 'Error' }, 1000, 0],
];
table('the status of an exited container', (row) => {
  for (const [name, status, seenForMs, want] of rows) row(name, () => assert.equal(computeNextReadMs(status, seenForMs), want));
});
