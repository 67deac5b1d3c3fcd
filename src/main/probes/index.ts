/**
 * Probes, as main sees them: decides what is probed, keeps the results and says which pods they concern. Owns the results by container instance, and
 * the pods that the probes thread has. The status cache calls it for each generated status, the sync loop with the thread's results, pod workers
 * for a sync's verdicts; it calls the probes thread. to-probed-pod.ts and the files that it uses are pure.
 */
export type { ContainerProbeResults } from './probe-results.ts';
export { readUnfinishedHooks, removeStaleHookRecords } from './unfinished-hooks.ts';
export { ProbeManager, type AppliedProbeResults, type ProbeManagerOptions } from './probe-manager.ts';
