/**
 * Where a pod's files are, as every kubelet has them (upstream pkg/kubelet/kubelet_getters.go, pkg/kubelet/config/defaults.go and
 * pkg/kubelet/kuberuntime/helpers.go), so that a node can change over from the Go kubelet and back.
 */
import { join } from 'node:path';

/**
 * A UID, a container's or a volume's name as one folder name. Upstream's validation lets a manifest's UID be anything: `..` must not
 * lead out of the root dir. Throws naming the value.
 */
function component(what: string, name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0')) {
    throw new Error(`${what} ${JSON.stringify(name)} cannot be the name of a folder`);
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
/** `plugin` is the volume plugin's name, `kubernetes.io/empty-dir`. */
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
/** Holds the container's termination message files. */
export function podContainerDir(rootDir: string, podUID: string, container: string): string {
  return join(podContainersDir(rootDir, podUID), component('container', container));
}
export function podSubpathsDir(rootDir: string, podUID: string): string {
  return join(podDir(rootDir, podUID), 'volume-subpaths');
}
/** Where a subPath is bound: `index` is the volumeMount's place in the container. */
export function subpathTarget(rootDir: string, podUID: string, volume: string, container: string, index: number): string {
  return join(podSubpathsDir(rootDir, podUID), component('volume', volume), component('container', container), String(index));
}
export function etcHostsPath(rootDir: string, podUID: string): string {
  return join(podDir(rootDir, podUID), 'etc-hosts');
}

/** A qualified name as one folder name: `kubernetes.io~empty-dir`. */
export function escapeQualifiedName(name: string): string {
  return name.replaceAll('/', '~');
}

/** One folder of links to every container's log, for log collectors: always here, also where the pods' logs were moved (upstream: ContainerLogsDir). */
export const containerLogsDir = '/var/log/containers';

interface PodName {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
}

/** `<podLogsDir>/<namespace>_<name>_<uid>`: a sandbox's log directory. */
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
