/**
 * Main's half of every thread: a facade each, which starts it, supervises it and calls it. The composition root makes one ThreadState,
 * enters main into it, and starts the threads with it, in the order in which things flow.
 */
export { HealthThread } from './health-thread.ts';
export { ImagesThread } from './images-thread.ts';
export { PlegThread } from './pleg-thread.ts';
export { defaultPodSyncThreads, PodSyncPool, type PodSyncRun } from './pod-sync-pool.ts';
export type { Permit, TaskHandlers as PodSyncHandlers, PodTask } from './task-channel.ts';
export { ProbesThread } from './probes-thread.ts';
export { ServerThread } from './server-thread.ts';
export { StatsThread } from './stats-thread.ts';
export { SharedThreadState as ThreadState } from './shared-thread-state.ts';
