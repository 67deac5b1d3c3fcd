/**
 * Creates a pod's sandbox and starts its containers: cgroup, images, CRI configs, log folders, start permits, postStart hooks. Called by the
 * steps of a sync after the computed kills.
 */
export { ensureCgroup } from './ensure-cgroup.ts';
export { prepareFirstContainer } from './prepare-first-container.ts';
export { prepareSandbox } from './prepare-sandbox.ts';
export { runPostStart } from './run-post-start.ts';
export { reportStaleStatus, StaleStatusError } from './stale-status.ts';
export { startContainers } from './start-containers.ts';
