/**
 * The cgroup driver systemd: slices are transient units, which systemd's manager starts, changes and stops over D-Bus. Owns the thread's
 * connection. Created by the cgroups of a thread whose driver is systemd.
 */
export { SystemdClient } from './systemd-client.ts';
export { SystemdManager } from './systemd-manager.ts';
