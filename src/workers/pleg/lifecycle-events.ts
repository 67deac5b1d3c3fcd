/**
 * Which events explain the way from what was last reported of an item to what it is now; pure. As upstream's generic PLEG
 * (pkg/kubelet/pleg/generic.go, generateEvents): sandboxes count as containers, a created container as one of unknown state.
 */
import type { PodLifecycleEvent } from '../../shared/contracts/pleg.ts';
import type { ContainerID, PodUID } from '../../shared/kubernetes/ids.ts';

export type PlegState = 'running' | 'exited' | 'unknown' | 'nonExistent';

/** The exit code of an event whose container is gone before anyone asked, or is a sandbox. */
export const unknownExitCode = -1;

export interface ItemChange {
  readonly podUID: PodUID;
  readonly id: ContainerID;
  readonly from: PlegState;
  readonly to: PlegState;
  readonly exitCode: number;
}

export function generateEvents({ podUID, id: containerID, from, to, exitCode }: ItemChange): PodLifecycleEvent[] {
  if (from === to) return [];
  const died = { type: 'ContainerDied', podUID, containerID, exitCode } as const;
  switch (to) {
    case 'running':
      return [{ type: 'ContainerStarted', podUID, containerID }];
    case 'exited':
      return [died];
    case 'unknown':
      return [{ type: 'ContainerChanged', podUID, containerID }];
    case 'nonExistent': {
      const removed = { type: 'ContainerRemoved', podUID, containerID } as const;
      return from === 'exited' ? [removed] : [died, removed];
    }
    default:
      return to satisfies never;
  }
}

/**
 * The events of a pod that was looked at: those of its items but for ContainerChanged, which upstream keeps to itself (a changed
 * status is all there is to it); a PodSync where an earlier look had failed, unless a death wakes the pod's worker anyway: starts and
 * removals may be its own doing, and those it lets pass.
 */
export function computePodEvents(podUID: PodUID, changes: readonly ItemChange[], reinspected: boolean): PodLifecycleEvent[] {
  const events = changes.flatMap(generateEvents).filter(({ type }) => type !== 'ContainerChanged');
  const wakes = events.some(({ type }) => type === 'ContainerDied');
  return reinspected && !wakes ? [...events, { type: 'PodSync', podUID }] : events;
}

/** A container's state as the protocol numbers it (CREATED, RUNNING, EXITED, UNKNOWN; a number beyond is unknown too). */
export function containerPlegState(rawState: number): PlegState {
  if (rawState === 1) return 'running';
  return rawState === 2 ? 'exited' : 'unknown';
}

/** A sandbox's (READY, NOTREADY). */
export function sandboxPlegState(rawState: number): PlegState {
  if (rawState === 0) return 'running';
  return rawState === 1 ? 'exited' : 'unknown';
}
