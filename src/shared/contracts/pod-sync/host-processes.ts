/** A task of the sync pool for processes that belong to no pod: main decides when they are moved (main/node-cgroups/). */

export interface MoveProcessesTask {
  /** systemCgroups: gets the processes of the root cgroup, except the kernel's and PID 1. Empty: none are moved. */
  readonly systemCgroup: string;
  /** kubeletCgroups: gets the kubelet and its helpers. Empty: they stay. */
  readonly kubeletCgroup: string;
  readonly oomScoreAdj: number;
}

export interface MoveProcessesResult {
  /** What failed, in words; empty when everything is in place. */
  readonly failures: readonly string[];
}
