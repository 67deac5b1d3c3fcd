/**
 * Paths of a pod's files. They equal upstream's (pkg/kubelet/kubelet_getters.go, pkg/kubelet/config/defaults.go and
 * pkg/kubelet/kuberuntime/helpers.go), so a node can switch between the Go kubelet and this one.
 */
import { join } from 'node:path';

/**
 * Returns the name unchanged when it is a valid path component, otherwise throws an Error with the name. Upstream's validation
 * accepts any UID in a manifest: `..` must not lead out of the root directory.
 */
function component(description: string, name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0')) {
    throw new Error(`${description} ${JSON.stringify(name)} cannot be the name of a folder`);
  }
  return name;
}

export function podsDir(rootDir: string): string {
  return join(rootDir, 'pods');
}
export function podDir(rootDir: string, podUID: string): string {
  return join(podsDir(rootDir), component('pod UID', podUID));
}
export function podVolumesDir(rootDir: string, podUID: string): string {
  return join(podDir(rootDir, podUID), 'volumes');
}
/** `plugin` is the name of the volume plugin, for example `kubernetes.io/empty-dir`. */
export function podVolumeDir(rootDir: string, podUID: string, plugin: string, volume: string): string {
  return join(podVolumesDir(rootDir, podUID), escapeQualifiedName(plugin), component('volume', volume));
}
export function podPluginsDir(rootDir: string, podUID: string): string {
  return join(podDir(rootDir, podUID), 'plugins');
}
export function podPluginDir(rootDir: string, podUID: string, plugin: string): string {
  return join(podPluginsDir(rootDir, podUID), escapeQualifiedName(plugin));
}
function podContainersDir(rootDir: string, podUID: string): string {
  return join(podDir(rootDir, podUID), 'containers');
}
/** Contains the container's termination message files. */
export function podContainerDir(rootDir: string, podUID: string, container: string): string {
  return join(podContainersDir(rootDir, podUID), component('container', container));
}
export function podSubpathsDir(rootDir: string, podUID: string): string {
  return join(podDir(rootDir, podUID), 'volume-subpaths');
}
/** The mount point of a subPath. `index` is the position of the volumeMount in the container. */
export function subpathTarget(rootDir: string, podUID: string, volume: string, container: string, index: number): string {
  return join(podSubpathsDir(rootDir, podUID), component('volume', volume), component('container', container), String(index));
}
/** The folder with an empty file for each container whose postStart hook has not ended, named by the container's ID. Only this kubelet has this folder. */
export function postStartHooksDir(rootDir: string): string {
  return join(rootDir, 'post_start_hooks');
}
export function postStartHookRecord(rootDir: string, containerID: string): string {
  return join(postStartHooksDir(rootDir), component('container ID', containerID));
}
export function etcHostsPath(rootDir: string, podUID: string): string {
  return join(podDir(rootDir, podUID), 'etc-hosts');
}

/** Turns a qualified name into one path component: `kubernetes.io~empty-dir`. */
export function escapeQualifiedName(name: string): string {
  return name.replaceAll('/', '~');
}

/**
 * The directory with a symlink to each container's log, for log collectors. The path is constant even when podLogsDir is
 * configured (upstream ContainerLogsDir).
 */
export const containerLogsDir = '/var/log/containers';

interface PodName {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
}

/** A sandbox's log directory: `<podLogsDir>/<namespace>_<name>_<uid>`. */
export function podLogsDirectory(podLogsDir: string, { metadata: { namespace, name, uid } }: PodName): string {
  return join(podLogsDir, component('log folder', `${namespace}_${name}_${uid}`));
}
export function containerLogsDirectory(podLogsDir: string, pod: PodName, container: string): string {
  return join(podLogsDirectory(podLogsDir, pod), component('container', container));
}
/** Relative to the sandbox's log directory: `<container>/<restartCount>.log`. */
export function containerLogPath(container: string, restartCount: number): string {
  return join(component('container', container), `${restartCount}.log`);
}
