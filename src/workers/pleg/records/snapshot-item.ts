/** Converts an item to its row in the shared runtime snapshot. Pure. */
import { maxImageBytes, snapshotStates, type SnapshotItem, type SnapshotState } from '../../../shared/state/runtime-snapshot.ts';
import type { Item } from './pod-record.ts';

export function toSnapshotItem(item: Item): SnapshotItem {
  const { kind, id, pod, status } = item;
  const state = toSnapshotState(item);
  const common = { kind, state, id, podUID: pod.uid, podName: pod.name, podNamespace: pod.namespace, createdAtMs: status.createdAtMs };
  return item.kind === 'sandbox'
    ? { ...common, sandboxID: item.status.id, containerName: '', image: item.image ?? '', attempt: item.status.attempt }
    : {
        ...common,
        sandboxID: item.status.sandboxID,
        containerName: item.status.name,
        image: imageOf(item.status.image),
        attempt: item.status.restartCount,
      };
}

function imageOf(image: string): string {
  return Buffer.byteLength(image) > maxImageBytes ? '' : image;
}

export function toSnapshotState(item: Item): SnapshotState {
  // The snapshot uses the CRI's numbers of container states.
  if (item.kind === 'container') return snapshotStates[item.rawState] ?? 'unknown';
  return item.state === 'nonExistent' ? 'unknown' : item.state;
}
