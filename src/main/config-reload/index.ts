/**
 * Applies a changed configuration file to the running kubelet, on SIGHUP and when a file of the configuration changes. Owns the rule which fields
 * change without a restart (live-fields.ts), the watch of the files, and what `/configz` says about the last reload. wiring/start-config-reload.ts
 * creates the part and hands the new values to the parts and threads that keep copies of them.
 */
export { ConfigReload, type ConfigReloadOptions, type ReloadObserver } from './config-reload.ts';
export { ConfigLoader } from './config-loader.ts';
export { ConfigWatch } from './config-watch.ts';
export { computeReload, type ReloadPlan } from './compute-reload.ts';
export { fieldEffects } from './live-fields.ts';
