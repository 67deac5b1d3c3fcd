/** Runs one history on a modelled node, and finds what must not happen. */
import { findViolations } from '../pod-histories/invariants.ts';
import type { PodHistoryEntry } from '../pod-histories/pod-history.ts';
import { ModelNode } from './model-node.ts';
import type { ModelOperation } from './model-operations.ts';

export interface HistoryResult {
  readonly history: readonly PodHistoryEntry[];
  readonly violations: readonly string[];
}

export async function runHistory(operations: readonly ModelOperation[], useEvents: boolean): Promise<HistoryResult> {
  using node = new ModelNode({ useEvents });
  await node.clock.advance(100);
  for (const operation of operations) await node.apply(operation);
  await node.settle();
  const left = await node.removeEverything();
  const violations = [...findViolations(node.history), ...left.map((item) => `nothing is left at the end: ${item}`)];
  return { history: node.history, violations };
}
