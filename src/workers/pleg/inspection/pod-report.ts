/**
 * Computes what to post about a pod after an inspection, its status and its events, and updates the reported states. Items whose calls
 * failed keep their events until a call succeeds.
 */
import { isDeepStrictEqual } from 'node:util';
import type { PlegNotification } from '../../../shared/contracts/pleg.ts';
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Failure } from '../../../shared/errors/kubelet-error.ts';
import { computePodEvents, unknownExitCode, type ItemChange } from '../lifecycle-events.ts';
import type { ContainerItem, Item, PodRecord, SandboxItem } from '../records/pod-record.ts';
import { toRuntimePodStatus } from '../runtime-status/to-runtime-status.ts';

export interface PodReport {
  /** Null when the runtime has nothing of the pod. The record can then be deleted. */
  readonly status: RuntimePodStatus | null;
  /** Null when main already has this status. */
  readonly message: PlegNotification | null;
}

/**
 * Computes the report and marks the record as reported. `failures` are keyed by item ID. `observedAtMs` is the monotonic time in ms at
 * which the inspection started.
 */
export function reportPod(record: PodRecord, failures: ReadonlyMap<string, Failure>, observedAtMs: number): PodReport {
  const { uid: podUID, name, namespace, posted } = record;
  const changes: ItemChange[] = [];
  for (const item of record.items.values()) {
    if (failures.has(item.id)) continue;
    changes.push({ podUID, id: item.id, from: item.reported, to: item.state, exitCode: exitCodeOf(item) });
    item.reported = item.state;
    if (item.slot < 0) record.items.delete(item.id);
  }
  const events = computePodEvents(podUID, changes, record.reinspect && failures.size === 0);
  if (failures.size === 0) record.reinspect = false;
  if (record.items.size === 0) {
    record.posted = null;
    // Main may have a status from this thread's predecessor: it learns of the removal with the events.
    return { status: null, message: posted || events.length > 0 ? { statuses: [], removed: [podUID], events } : null };
  }
  const items = [...record.items.values()];
  const status = toRuntimePodStatus({
    podUID,
    name,
    namespace,
    sandboxes: items.filter((item): item is SandboxItem => item.kind === 'sandbox').map((item) => item.status),
    containers: items.filter((item): item is ContainerItem => item.kind === 'container').map((item) => item.status),
    previousPodIPs: posted?.podIPs ?? [],
    observedAtMs,
    failure: toPodFailure(failures),
  });
  record.posted = status;
  const changed = events.length > 0 || !posted || !isDeepStrictEqual({ ...posted, observedAtMs }, status);
  return { status, message: changed ? { statuses: [status], removed: [], events } : null };
}

/** The exit code of an item that was removed before its inspection is unknown. */
function exitCodeOf(item: Item): number {
  return item.kind === 'container' && item.inspected && item.status.state === 'exited' ? item.status.exitCode : unknownExitCode;
}

/** Combines the failures of a pod: the first one and the number of the others. */
function toPodFailure(failures: ReadonlyMap<string, Failure>): Failure | undefined {
  const [first] = failures.values();
  if (!first || failures.size === 1) return first;
  return { ...first, message: `${first.message} (and ${failures.size - 1} more)` };
}
