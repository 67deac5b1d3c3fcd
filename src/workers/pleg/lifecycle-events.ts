/**
 * Computes the events between the reported and the current state of an item. Pure. Follows upstream's generic PLEG
 * (pkg/kubelet/pleg/generic.go, generateEvents): sandboxes count as containers, and a created container has an unknown state.
 */
import type { PodLifecycleEvent } from '../../shared/contracts/pleg.ts';
import type { ContainerID, PodUID } from '../../shared/kubernetes/ids.ts';

export type PlegState = 'running' | 'exited' | 'unknown' | 'nonExistent';

/** The exit code of sandboxes, and of containers that were removed before their inspection. */
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
 * Returns the events of an inspected pod. ContainerChanged is omitted, because upstream does not send it to the sync loop either. A pod
 * whose previous inspection failed gets a PodSync, unless it has a ContainerDied, which triggers a sync anyway. Starts and removals may
 * result from the worker's own actions, so the worker ignores them.
 */
export function computePodEvents(podUID: PodUID, changes: readonly ItemChange[], reinspected: boolean): PodLifecycleEvent[] {
  const events = changes.flatMap(generateEvents).filter(({ type }) => type !== 'ContainerChanged');
  const hasDied = events.some(({ type }) => type === 'ContainerDied');
  return reinspected && !hasDied ? [...events, { type: 'PodSync', podUID }] : events;
}

/** Converts the CRI's number of a container state (CREATED, RUNNING, EXITED, UNKNOWN). Unrecognized numbers are unknown. */
export function containerPlegState(rawState: number): PlegState {
  if (rawState === 1) return 'running';
  return rawState === 2 ? 'exited' : 'unknown';
}

/** Converts the CRI's number of a sandbox state (READY, NOTREADY). */
export function sandboxPlegState(rawState: number): PlegState {
  if (rawState === 0) return 'running';
  return rawState === 1 ? 'exited' : 'unknown';
}
