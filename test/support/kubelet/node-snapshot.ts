/**
 * Describes everything that pods have on a node, line by line: sandboxes and containers with their labels and annotations, folders with modes, owners and
 * contents, mounts, cgroups with their limits, logs and their links. Two snapshots show what a kubelet has changed.
 */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { containersOf, sandboxesOf } from './observed-node-state.ts';
import type { TestNode } from './test-node.ts';

/** What a thing is by its name, such as `file pods/…/etc-hosts`. */
export type NodeSnapshot = ReadonlyMap<string, string>;

const limits = ['cpu.shares', 'cpu.cfs_quota_us', 'memory.limit_in_bytes', 'pids.max'];

/** @param uids of the pods to describe */
export async function snapshotOf(node: TestNode, uids: ReadonlySet<string>): Promise<NodeSnapshot> {
  const isOfPod = (path: string) => [...uids].some((uid) => path.includes(uid));
  return new Map([
    ...(await inRuntime(node, uids)),
    ...[...uids].flatMap((uid) => filesBelow(join(node.rootDir, 'pods', uid))),
    ...mountsBelow(join(node.rootDir, 'pods')).filter(([point]) => isOfPod(point)),
    ...cgroupsBelow(node.cgroupRoot).filter(([path]) => isOfPod(path)),
    ...logsBelow(node.podLogs).filter(([path]) => isOfPod(path)),
    ...logLinksInto(node.podLogs).filter(([, target]) => isOfPod(target)),
  ]);
}

/** Returns what has changed, appeared or disappeared. */
export function changesBetween(before: NodeSnapshot, after: NodeSnapshot): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names]
    .filter((name) => before.get(name) !== after.get(name))
    .map((name) => `${name}: ${before.get(name) ?? 'missing'} → ${after.get(name) ?? 'missing'}`);
}

async function inRuntime(node: TestNode, uids: ReadonlySet<string>): Promise<[string, string][]> {
  const isOfPod = ({ labels }: { readonly labels: Readonly<Record<string, string>> }) => uids.has(labels['io.kubernetes.pod.uid'] ?? '');
  const [sandboxes, containers] = [await sandboxesOf(node), await containersOf(node)];
  return [
    ...sandboxes
      .filter(isOfPod)
      .map(({ id, state, labels, annotations }): [string, string] => [
        `sandbox ${labels['io.kubernetes.pod.name']} ${id}`,
        `${state} ${inOrder(labels)} ${inOrder(annotations)}`,
      ]),
    ...containers
      .filter(isOfPod)
      .map(({ id, state, metadata, labels, annotations }): [string, string] => [
        `container ${labels['io.kubernetes.pod.name']} ${metadata?.name} ${id}`,
        `${state} ${metadata?.attempt} ${inOrder(labels)} ${inOrder(annotations)}`,
      ]),
  ];
}

function inOrder(entries: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(entries).toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

/** Folders with a time in their names, which an updated volume has, count as one. */
function filesBelow(folder: string): [string, string][] {
  if (!existsSync(folder)) return [];
  const described = (path: string): [string, string][] => {
    const stat = lstatSync(path);
    const owner = `${(stat.mode & 0o7777).toString(8)} ${stat.uid}:${stat.gid}`;
    const name = `file ${timeless(path)}`;
    if (stat.isSymbolicLink()) return [[name, `→ ${timeless(readlinkSync(path))}`]];
    if (stat.isDirectory()) {
      const children = readdirSync(path);
      // A plugin's folder, after the volumes of a pod that has ended.
      if (children.length === 0 && basename(path).startsWith('kubernetes.io~')) return [];
      return [[name, `folder ${owner}`], ...children.flatMap((child) => described(join(path, child)))];
    }
    if (!stat.isFile() || path.endsWith('/token')) return [[name, owner]];
    return [[name, `${owner} ${digestOf(path)}`]];
  };
  return described(folder);
}

function digestOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 12);
}

function timeless(path: string): string {
  return path.replaceAll(/\.\.\d{4}(_\d\d){5}\.\w+/g, '..TIME');
}

function mountsBelow(folder: string): [string, string][] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , , , point = '']) => point.startsWith(`${folder}/`))
    .map((fields) => [`mount ${fields[4]}`, fields.slice(5).join(' ')]);
}

/** Of cgroup v1, where each controller has a tree of its own. */
function cgroupsBelow(cgroupRoot: string): [string, string][] {
  const described = (path: string): [string, string][] =>
    readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
      if (entry.isDirectory())
        return [[`cgroup ${join(path, entry.name)}`, ''], ...described(join(path, entry.name))] as [string, string][];
      return limits.includes(entry.name) ? [[`limit ${join(path, entry.name)}`, readFileSync(join(path, entry.name), 'utf8').trim()]] : [];
    });
  const trees = readdirSync('/sys/fs/cgroup', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return trees
    .map(({ name }) => join('/sys/fs/cgroup', name, cgroupRoot, 'kubepods'))
    .flatMap((path) => (existsSync(path) ? described(path) : []));
}

function logsBelow(podLogs: string): [string, string][] {
  const entries = readdirSync(podLogs, { recursive: true, withFileTypes: true });
  return entries.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return [`log ${relative(podLogs, path)}`, entry.isFile() ? digestOf(path) : ''];
  });
}

function logLinksInto(podLogs: string): [string, string][] {
  const folder = '/var/log/containers';
  return readdirSync(folder).flatMap((name) => {
    try {
      const target = readlinkSync(join(folder, name));
      return target.startsWith(`${podLogs}/`) ? [[`link ${name}`, target] as [string, string]] : [];
    } catch {
      // Another kubelet of this host has removed it.
      return [];
    }
  });
}
