/** Runs one history on a modelled node, and finds what must not happen. */
import { findViolations } from '../pod-histories/invariants.ts';
import { modelledInvariants } from '../pod-histories/modelled-invariants.ts';
import type { PodHistoryEntry } from '../pod-histories/pod-history.ts';
import { ModelNode } from './model-node.ts';
import type { ModelOperation } from './model-operations.ts';

/** More than the time from a change to its status without events of the runtime. */
const relistMs = 3000;

export interface HistoryResult {
  readonly history: readonly PodHistoryEntry[];
  readonly violations: readonly string[];
}

export async function runHistory(operations: readonly ModelOperation[], useEvents: boolean): Promise<HistoryResult> {
  using node = new ModelNode({ useEvents });
  await node.clock.advance(100);
  for (const operation of operations) await node.apply(operation);
  await node.settle();
  const differences = await findLastingDifferences(node);
  const left = await node.removeEverything();
  const { history } = node;
  const modelled = Object.entries(modelledInvariants).flatMap(([name, find]) => find(history).map((line) => `${name}: ${line}`));
  const violations = [
    ...findViolations(history),
    ...modelled,
    ...differences.map((item) => `a status shows the runtime at last: ${item}`),
    ...left.map((item) => `nothing is left at the end: ${item}`),
  ];
  return { history, violations };
}

/** A container that crashes again and again may just have ended: only what the next relist leaves is wrong. */
async function findLastingDifferences(node: ModelNode): Promise<readonly string[]> {
  const first = findDifferences(node);
  if (first.length === 0) return first;
  await node.clock.advance(relistMs);
  return findDifferences(node).filter((line) => first.includes(line));
}

/**
 * Containers of pods that are not being deleted, whose status shows another state than the runtime has. When the runtime loses a container that has completed,
 * it runs again, and its status may not change any more: neither the kubelet nor the API server lets a completed container leave that state, as upstream.
 */
function findDifferences({ api, runtime, history }: ModelNode): readonly string[] {
  const running = new Map(runtime.running().map(({ id, sandbox, name }) => [id, `${sandbox.podUID}/${name}`]));
  const runningNames = new Set(running.values());
  const lost = new Set(history.flatMap((entry) => (entry.source === 'test' && entry.type === 'containerLost' ? [entry.podUID] : [])));
  const frozen = new Set<string>();
  const shown = new Set<string>();
  const differences: { readonly podUID: string; readonly text: string }[] = [];
  for (const { metadata, status = {} } of api.pods.pods.values()) {
    const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status;
    for (const { name, containerID, state } of [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses]) {
      const key = `${metadata.uid}/${name}`;
      if (state?.terminated && runningNames.has(key) && lost.has(metadata.uid)) frozen.add(metadata.uid);
      if (!state?.running) continue;
      const id = containerID?.replace(/^.*:\/\//, '') ?? '';
      shown.add(id);
      if (!running.has(id)) differences.push({ podUID: metadata.uid, text: `${key} does not run as ${id}` });
    }
  }
  for (const [id, name] of running) {
    if (!name.startsWith('static') && !shown.has(id)) differences.push({ podUID: name.split('/')[0]!, text: `${name} runs as ${id}` });
  }
  return differences.filter(({ podUID }) => !frozen.has(podUID)).map(({ text }) => text);
}
