/**
 * The cgroup driver systemd: slices are transient units, which systemd's manager starts, changes and stops over D-Bus. Owns the thread's
 * connection to D-Bus. Loaded by createCgroupManager only for this driver.
 */
export { SystemdClient } from './systemd-client.ts';
export { SystemdManager } from './systemd-manager.ts';
