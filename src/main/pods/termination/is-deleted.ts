/** Whether somebody has asked for a pod's end: its object stays until the kubelet has brought that about. */
import type { Pod } from '../../../shared/kubernetes/api.ts';

export function isDeleted({ metadata }: Pick<Pod, 'metadata'>): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null;
}
