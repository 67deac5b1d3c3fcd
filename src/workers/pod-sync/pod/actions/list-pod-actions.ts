/** Turns the computed actions of a pod into the list that is executed. Pure. */
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import type { PodActions } from '../compute-pod-actions/index.ts';
import type { PodAction, PodActionType } from './pod-action-type.ts';
import { podActionTypes } from './pod-action-types.ts';

type MembersReadBy<Type> = Type extends PodActionType<infer Reads> ? Reads : never;
/** Members of PodActions that no type reads, which nothing would execute: with one of them, the next line does not compile. */
type UnreadMember = Exclude<keyof PodActions, MembersReadBy<(typeof podActionTypes)[number]>>;
const allTypes: [UnreadMember] extends [never] ? typeof podActionTypes : never = podActionTypes;

export function listPodActions(actions: PodActions, task: SyncPodTask): PodAction[] {
  return allTypes.flatMap((type) => type.list(actions, task));
}

/** Returns whether the actions only resize what runs, so that they need not wait for volumes. */
export function isResizeOnly(actions: PodActions, task: SyncPodTask): boolean {
  const listed = listPodActions(actions, task);
  return listed.some(({ type }) => type === 'Resize') && !listed.some(({ waitsForVolumes }) => waitsForVolumes);
}
