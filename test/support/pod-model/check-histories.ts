/**
 * A thread that runs histories on modelled nodes: those that are given, or random ones. The hooks of node:test see every promise of their thread, which
 * doubles the cost of a history. Posts what it has run; a violation is an uncaught error.
 */
import assert from 'node:assert/strict';
import { parentPort, workerData } from 'node:worker_threads';
import * as fc from 'fast-check';
import { describeHistory } from '../pod-histories/pod-history.ts';
import { shapes } from '../pod-histories/pod-shapes.ts';
import { modelOperations } from './model-operations.ts';
import { resizeOperations } from './resize-operations.ts';
import { runHistory, type ModelledHistory } from './run-history.ts';

/** With a name for those that fail. */
export type KnownHistory = ModelledHistory & { readonly name: string };

export interface KnownHistories {
  readonly known: readonly KnownHistory[];
}

export interface RandomHistories {
  readonly kind: 'pods' | 'resizes';
  readonly seed: number;
  readonly numRuns: number;
  readonly endOnFailure: boolean;
}

export interface CheckedHistories {
  readonly runs: number;
  /** Of containers. */
  readonly starts: number;
}

const operationsPerHistory = 100;
let runs = 0;
let starts = 0;

async function check(modelled: ModelledHistory | KnownHistory): Promise<void> {
  const { history, violations } = await runHistory(modelled);
  const text = describeHistory(history, (uid) => violations.some((line) => line.includes(uid)));
  const name = 'name' in modelled ? `${modelled.name}\n` : '';
  assert.deepEqual(violations, [], `${name}${violations.join('\n')}\n${text}`);
  runs += 1;
  starts += history.filter(({ type }) => type === 'started').length;
}

const work = workerData as KnownHistories | RandomHistories;
if ('known' in work) for (const one of work.known) await check(one);
else {
  const operations = work.kind === 'pods' ? modelOperations(shapes.length, operationsPerHistory) : resizeOperations(operationsPerHistory);
  const cgroupVersion = fc.constantFrom<1 | 2>(1, 2);
  const history = fc.record({ operations, useEvents: fc.boolean(), cgroupVersion });
  await fc.assert(fc.asyncProperty(history, check), work);
}
parentPort?.postMessage({ runs, starts } satisfies CheckedHistories);
