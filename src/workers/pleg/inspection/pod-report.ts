/**
 * What is posted of a pod after a look: its status and the events that lead to it, and what the record then takes for reported.
 * Items about which the runtime did not answer keep their events until it does.
 */
import { isDeepStrictEqual } from 'node:util';
import type { PlegNotification } from '../../../shared/contracts/pleg.ts';
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Failure } from '../../../shared/errors/kubelet-error.ts';
import { computePodEvents, unknownExitCode, type ItemChange } from '../lifecycle-events.ts';
import type { ContainerItem, Item, PodRecord, SandboxItem } from '../records/pod-record.ts';
import { toRuntimePodStatus } from '../runtime-status/to-runtime-status.ts';

export interface PodReport {
  /** Null: the runtime has nothing of the pod any more, and its record can be forgotten. */
  readonly status: RuntimePodStatus | null;
  /** Null: main knows all of this already. */
  readonly message: PlegNotification | null;
}

/**
 * Makes the report and marks the record as reported. `failures`: by ID, what could not be asked. `observedAtMs`: monotonic ms at
 * which the look began.
 */
export function report(record: PodRecord, failures: ReadonlyMap<string, Failure>, observedAtMs: number): PodReport {
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
    const gone = posted ? [podUID] : [];
    return { status: null, message: posted || events.length > 0 ? { statuses: [], gone, events } : null };
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
  return { status, message: changed ? { statuses: [status], gone: [], events } : null };
}

/** What happened to an item that nobody could ask any more is not known. */
function exitCodeOf(item: Item): number {
  return item.kind === 'container' && item.inspected && item.status.state === 'exited' ? item.status.exitCode : unknownExitCode;
}

/** All of the pod's failures in one: the first, and how many more there are. */
function toPodFailure(failures: ReadonlyMap<string, Failure>): Failure | undefined {
  const [first] = failures.values();
  if (!first || failures.size === 1) return first;
  return { ...first, message: `${first.message} (and ${failures.size - 1} more)` };
}
