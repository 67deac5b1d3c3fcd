/** Runs one history on a modelled node, and finds what must not happen. */
import { findViolations } from '../pod-histories/invariants.ts';
import { modelledInvariants } from '../pod-histories/modelled-invariants.ts';
import type { PodHistoryEntry } from '../pod-histories/pod-history.ts';
import { ModelNode } from './model-node.ts';
import { findResizeDifferences } from './resize-invariants.ts';
import type { ModelOperation } from './model-operations.ts';

/** More than the time from a change to its status without events of the runtime. */
const relistMs = 3000;

export interface ModelledHistory {
  readonly operations: readonly ModelOperation[];
  readonly useEvents: boolean;
  /** Default: 1. */
  readonly cgroupVersion?: 1 | 2 | undefined;
}

export interface HistoryResult {
  readonly history: readonly PodHistoryEntry[];
  readonly violations: readonly string[];
}

export async function runHistory({ operations, ...options }: ModelledHistory): Promise<HistoryResult> {
  using node = new ModelNode(options);
  await node.clock.advance(100);
  for (const operation of operations) await node.apply(operation);
  await node.settle();
  const differences = await findLastingDifferences(node);
  const resizes = await findResizeDifferences(node);
  const updates = await node.countUpdatesAfterRestart();
  const left = await node.removeEverything();
  const { history } = node;
  const modelled = Object.entries(modelledInvariants).flatMap(([name, find]) => find(history).map((line) => `${name}: ${line}`));
  const violations = [
    ...findViolations(history),
    ...modelled,
    ...resizes.map((item) => `resizes are in force and shown at last: ${item}`),
    ...[...node.excesses].map((item) => `no more than the node has is allocated: ${item}`),
    ...[...node.causelessPreemptions].map((uid) => `pods end for critical ones only: ${uid}`),
    ...[...node.cgroups.kills].map((path) => `no limit is set below the usage: ${path}`),
    ...node.overlappingUpdates.map((id) => `one update of an object at a time: ${id}`),
    ...node.resizeEvents.violations().map((item) => `an event of a resize has a cause, and comes once: ${item}`),
    ...(updates > 0 ? [`a kubelet repeats no resize: ${updates} calls`] : []),
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

/** Containers of pods that are not being deleted, whose status shows another state than the runtime has. */
function findDifferences({ api, runtime }: ModelNode): readonly string[] {
  const running = new Set(runtime.running().map(({ id }) => id));
  const known = new Map(runtime.running().map(({ id, sandbox, name }) => [id, `${sandbox.podUID}/${name}`]));
  const shown = new Set<string>();
  const differences: string[] = [];
  for (const { metadata, status = {} } of api.pods.pods.values()) {
    const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status;
    for (const { name, containerID, state } of [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses]) {
      if (!state?.running) continue;
      const id = containerID?.replace(/^.*:\/\//, '') ?? '';
      shown.add(id);
      if (!running.has(id)) differences.push(`${metadata.uid}/${name} does not run as ${id}`);
    }
  }
  for (const [id, name] of known) if (!name.startsWith('static') && !shown.has(id)) differences.push(`${name} runs as ${id}`);
  return differences;
}
