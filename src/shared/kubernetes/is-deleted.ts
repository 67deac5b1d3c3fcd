/** True for pods with a deletion timestamp. The object exists until the kubelet has terminated the pod. */
import type { Pod } from './api.ts';

export function isDeleted({ metadata }: Pick<Pod, 'metadata'>): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null;
}
