/** What happened to the pods of one test, in order of time: the API's side, the runtime's side, and the kubelet's starts. */
import type { HistoryEntry } from '../../../lab/simulated-runtime/history.ts';
import type { PodStatus } from '../../../src/shared/kubernetes/api.ts';

/** What the model of a node knows of an entry beyond what the simulated runtime records. */
export interface RuntimeDetails {
  readonly sandboxID?: string;
  readonly attempt?: number;
  readonly podName?: string;
  readonly exitCode?: number;
}

/** What a test did to a pod: the cause of what follows. `resizeAsked`: a container may start at once; `resized`: one may restart once. */
export interface PodDisturbance {
  readonly source: 'test';
  readonly type:
    | 'imageChanged'
    | 'resizeAsked'
    | 'resized'
    /** Another pod needs what it has. */
    | 'preempted'
    | 'sandboxLost'
    | 'containerLost'
    | 'probeFailed'
    | 'probeUnready'
    | 'callFailed';
  readonly atMs: number;
  readonly podUID: string;
  readonly container?: string;
  readonly containerID?: string;
}

export type PodHistoryEntry =
  | (HistoryEntry & RuntimeDetails & { readonly source: 'runtime' })
  | PodDisturbance
  /** A client has deleted the pod; again with a shorter grace period. Without grace: by force. */
  | { readonly source: 'api'; readonly type: 'deleted'; readonly atMs: number; readonly podUID: string; readonly graceSeconds: number }
  /** The kubelet has written the status. */
  | { readonly source: 'api'; readonly type: 'status'; readonly atMs: number; readonly podUID: string; readonly status: PodStatus }
  /** The kubelet has removed the pod object. */
  | { readonly source: 'api'; readonly type: 'finished'; readonly atMs: number; readonly podUID: string }
  | { readonly source: 'kubelet'; readonly type: 'launched'; readonly atMs: number };

/** Sorts by time; entries of the same time keep their order. */
export function mergeHistories(...histories: readonly (readonly PodHistoryEntry[])[]): readonly PodHistoryEntry[] {
  return histories.flat().sort((a, b) => a.atMs - b.atMs);
}

/** Renders the history of some pods, one line per entry. Times are seconds since the first entry. */
export function describeHistory(history: readonly PodHistoryEntry[], isShown: (podUID: string) => boolean): string {
  const [first] = history;
  return history
    .filter((entry) => entry.source === 'kubelet' || isShown(entry.podUID))
    .map((entry) => `${((entry.atMs - first!.atMs) / 1000).toFixed(3)} ${describeEntry(entry)}`)
    .join('\n');
}

function describeEntry(entry: PodHistoryEntry): string {
  if (entry.source === 'kubelet') return 'kubelet launched';
  if (entry.source === 'test') return `${entry.podUID}/${entry.container ?? ''} ${entry.type} by the test ${entry.containerID ?? ''}`;
  if (entry.source === 'runtime') {
    const grace = entry.graceSeconds === undefined ? '' : ` with ${entry.graceSeconds} s`;
    const code = entry.exitCode === undefined ? '' : ` with code ${entry.exitCode}`;
    return `${entry.podUID}/${entry.container} ${entry.type}${grace}${code} ${entry.containerID.slice(0, 12)}`;
  }
  switch (entry.type) {
    case 'status': {
      const { phase, initContainerStatuses = [], containerStatuses = [] } = entry.status;
      const containers = [...initContainerStatuses, ...containerStatuses].map(
        ({ name, restartCount, state }) => `${name} ${Object.keys(state ?? {}).join()} ${restartCount}`,
      );
      return `${entry.podUID} status ${phase}: ${containers.join(', ')}`;
    }
    case 'deleted':
      return `${entry.podUID} deleted with ${entry.graceSeconds} s`;
    case 'finished':
      return `${entry.podUID} object removed by the kubelet`;
    default:
      return entry satisfies never;
  }
}
