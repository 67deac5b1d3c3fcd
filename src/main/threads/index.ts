/**
 * Main's half of every thread: one facade each, which starts the thread, supervises it and calls it. The composition root creates one
 * SharedThreadState, enters main into it, and starts the threads with it, in the order of the data flow.
 */
export { HealthThread } from './health-thread.ts';
export { ImagesThread } from './images-thread.ts';
export { PlegThread } from './pleg-thread.ts';
export { defaultPodSyncThreads, PodSyncPool, type PodSyncPoolOptions, type PodSyncRun } from './pod-sync-pool.ts';
export type { Permit, PodTask, TaskHandlers } from './task-channel.ts';
export { ProbesThread } from './probes-thread.ts';
export { ServerThread } from './server-thread.ts';
export { StatsThread } from './stats-thread.ts';
export { SharedThreadState } from './shared-thread-state.ts';
