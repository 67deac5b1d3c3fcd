import assert from 'node:assert/strict';
import type { ProbeOutcome, ProbeType } from '../../../../../src/shared/contracts/probes.ts';
import { computeProbeState, initialProbeState } from '../../../../../src/workers/probes/schedule/probe-state.ts';
import { table } from '../../../../support/table.ts';

interface Case {
  readonly name: string;
  readonly probe: ProbeType;
  readonly lastResult?: ProbeOutcome;
  readonly success?: number;
  readonly failure?: number;
  /** + success, - failure. */
  readonly outcomes: string;
  /** The result after each outcome: s, f, u; with ! when the probe is on hold. */
  readonly results: string;
}

const cases: readonly Case[] = [
  { name: 'the first success makes ready', probe: 'readiness', outcomes: '+', results: 's' },
  { name: 'the first failures change nothing', probe: 'readiness', failure: 3, outcomes: '---', results: 'f f f' },
  { name: 'ready until the third failure in a row', probe: 'readiness', failure: 3, outcomes: '+--+---', results: 's s s s s s f' },
  { name: 'ready again after two successes', probe: 'readiness', success: 2, outcomes: '-+-++', results: 'f f f f s' },
  {
    name: 'a former result lasts until its threshold',
    probe: 'readiness',
    lastResult: 'success',
    failure: 2,
    outcomes: '-+--',
    results: 's s s f',
  },
  { name: 'liveness begins with success', probe: 'liveness', failure: 2, outcomes: '-+--', results: 's s s f!' },
  { name: 'a startup probe is over when it succeeds', probe: 'startup', failure: 2, outcomes: '-+', results: 'u s!' },
  { name: 'a startup probe is over when it fails', probe: 'startup', failure: 2, outcomes: '--', results: 'u f!' },
];

table('computeProbeState', (row) => {
  for (const { name, probe, lastResult, success: successThreshold = 1, failure: failureThreshold = 1, outcomes, results } of cases) {
    row(name, () => {
      let state = initialProbeState(probe, lastResult);
      const seen = outcomes.split('').map((outcome) => {
        state = computeProbeState(state, outcome === '+' ? 'success' : 'failure', { probe, successThreshold, failureThreshold });
        return `${state.result[0]}${state.onHold ? '!' : ''}`;
      });
      assert.equal(seen.join(' '), results);
    });
  }
});

table('initialState', (row) => {
  const rows: readonly [ProbeType, ProbeOutcome | undefined, ProbeOutcome, boolean][] = [
    ['readiness', undefined, 'failure', false],
    ['liveness', undefined, 'success', false],
    ['startup', undefined, 'unknown', false],
    ['readiness', 'failure', 'failure', false],
    ['liveness', 'failure', 'failure', true],
    ['startup', 'failure', 'failure', true],
    ['startup', 'success', 'success', true],
  ];
  for (const [probe, lastResult, result, onHold] of rows)
    row(`${probe} after ${lastResult ?? 'nothing'}`, () =>
      assert.deepEqual(initialProbeState(probe, lastResult), { result, lastOutcome: undefined, resultRun: 0, onHold }),
    );
});
