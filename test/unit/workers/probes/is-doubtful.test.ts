import assert from 'node:assert/strict';
import type { AttemptResult } from '../../../../src/workers/probes/actions/attempt.ts';
import { isDoubtful } from '../../../../src/workers/probes/is-doubtful.ts';
import { table } from '../../../support/table.ts';

table('isDoubtful', (row) => {
  const cases: readonly [name: string, result: Partial<AttemptResult>, delayedMs: number, want: boolean, isLast?: true][] = [
    ['a timeout on a thread that ran', { doubt: 'time' }, 99, false],
    ['a timeout on a thread that did not run for a tenth of it', { doubt: 'time' }, 100, true],
    ['a late success', { outcome: 'success', doubt: 'time' }, 900, false],
    ['an answer on a thread that did not run', {}, 900, false],
    ['no resources', { doubt: 'node' }, 0, true],
    ['a connection that breaks in the body on a busy thread', { doubt: 'time', isError: true }, 500, true],
    ['a last timeout on a thread that ran for half of it', { doubt: 'time' }, 499, false, true],
    ['a last timeout on a thread that ran for less', { doubt: 'time' }, 500, true, true],
    ['no resources at last', { doubt: 'node' }, 0, true, true],
  ];
  for (const [name, result, delayedMs, want, isLast] of cases)
    row(name, () => assert.equal(isDoubtful({ outcome: 'failure', output: '', ...result }, delayedMs, 1000, isLast), want));
});
