/**
 * What a node has of pods, as its runtime and its kernel show it, whatever the kubelet believes: sandboxes, containers, mounts, folders,
 * cgroups. For tests in which nothing may be lost, made twice or left over.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ContainerState, PodSandboxState, type Container, type PodSandbox } from '../../src/shared/cri/generated/cri-v1.ts';
import { waitUntil } from './simulated-runtime.ts';
import type { TestNode } from './test-node.ts';

const uidLabel = 'io.kubernetes.pod.uid';

export interface ObservedNodeState {
  /** UIDs of pods, one entry for each sandbox that is ready, … */
  readonly readySandboxes: readonly string[];
  /** … for each container that runs, … */
  readonly runningContainers: readonly string[];
  /** … and each once: of any sandbox or container, whatever its state. */
  readonly inRuntime: readonly string[];
  /** With a folder below the root dir. */
  readonly folders: readonly string[];
  /** With a mount below the root dir. */
  readonly mounts: readonly string[];
  /** With a cgroup in any hierarchy. */
  readonly cgroups: readonly string[];
}

export async function containersOf(node: TestNode): Promise<readonly Container[]> {
  return (await node.cri.runtime.call('listContainers', {}, { deadlineMs: 30_000 })).containers;
}

export async function sandboxesOf(node: TestNode): Promise<readonly PodSandbox[]> {
  return (await node.cri.runtime.call('listPodSandbox', {}, { deadlineMs: 30_000 })).items;
}

/** The IDs of the containers that run, of all pods or of one. */
export async function runningOf(node: TestNode, podUID?: string): Promise<string[]> {
  const running = (await containersOf(node)).filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
  return running.filter((container) => podUID === undefined || uidOf(container) === podUID).map(({ id }) => id);
}

export async function observeNodeState(node: TestNode): Promise<ObservedNodeState> {
  const isStuck = stuckInRuntime(node);
  const containers = await containersOf(node);
  const stuckSandboxes = new Set(containers.filter(({ id }) => isStuck(id)).map(({ podSandboxId }) => podSandboxId));
  const sandboxes = (await sandboxesOf(node)).filter(({ id, state }) => state === PodSandboxState.SANDBOX_READY || !stuckSandboxes.has(id));
  return {
    readySandboxes: sandboxes
      .filter(({ state }) => state === PodSandboxState.SANDBOX_READY)
      .map(uidOf)
      .toSorted(),
    runningContainers: containers
      .filter(({ state }) => state === ContainerState.CONTAINER_RUNNING)
      .map(uidOf)
      .toSorted(),
    inRuntime: distinct([...sandboxes, ...containers.filter(({ id }) => !isStuck(id))].map(uidOf)),
    folders: foldersIn(join(node.rootDir, 'pods')).toSorted(),
    mounts: mountsBelow(join(node.rootDir, 'pods')),
    cgroups: podCgroups(node.cgroupRoot),
  };
}

/**
 * containerd can lose the task of a container whose start was cut off by its client's death, and then never removes that container again, nor
 * its sandbox, whoever asks. It says so in its log, and nobody can do better than to have asked.
 */
function stuckInRuntime({ containerd }: TestNode): (containerID: string) => boolean {
  const refused = readFileSync(containerd.logFile, 'utf8').matchAll(/cannot delete running task ([0-9a-f]{64})/g);
  const ids = new Set([...refused].map(([, id]) => id));
  return (id) => ids.has(id);
}

/** Of each pod one sandbox and one container that runs, and of nobody else anything: at once, or when what is under way has ended. */
export async function untilOnlyThese(node: TestNode, uids: readonly string[], timeoutMs = 90_000): Promise<void> {
  const wanted = uids.toSorted();
  let last: ObservedNodeState | undefined;
  const isSo = async () => {
    last = await observeNodeState(node);
    const { readySandboxes, runningContainers, inRuntime, folders, mounts, cgroups } = last;
    const exact = [readySandboxes, runningContainers, inRuntime, folders, cgroups];
    return exact.every((of) => isEqual(of, wanted)) && mounts.every((uid) => wanted.includes(uid));
  };
  await waitUntil('the node has what it should have', isSo, timeoutMs).catch((err: unknown) => {
    if (!last) throw err;
    const { mounts, ...exact } = last;
    const lacks = (of: readonly string[]) => ({ lacks: wanted.filter((uid) => !of.includes(uid)), others: surplus(of, wanted) });
    const difference = Object.fromEntries(Object.entries(exact).map(([what, of]) => [what, lacks(of)]));
    assert.fail(`${String(err)}: ${JSON.stringify({ ...difference, mounts: surplus(mounts, wanted) }, null, 1)}`);
  });
}

function uidOf({ labels }: { readonly labels: Readonly<Record<string, string>> }): string {
  return labels[uidLabel] ?? 'no pod';
}

/** What is there too often, or should not be there at all. */
function surplus(of: readonly string[], wanted: readonly string[]): string[] {
  return of.filter((uid, i) => !wanted.includes(uid) || of.indexOf(uid) !== i);
}

function isEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, i) => one === b[i]);
}

function distinct(all: readonly string[]): string[] {
  return [...new Set(all)].toSorted();
}

function foldersIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function mountsBelow(folder: string): string[] {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '');
  return distinct(points.filter((point) => point.startsWith(`${folder}/`)).map((point) => point.slice(folder.length + 1).split('/')[0]!));
}

/** Below any controller's hierarchy, or the only one. */
function podCgroups(cgroupRoot: string): string[] {
  const hierarchies = ['', ...foldersIn('/sys/fs/cgroup')].map((name) => join('/sys/fs/cgroup', name, cgroupRoot, 'kubepods'));
  const below = hierarchies.flatMap((root) => ['', 'burstable', 'besteffort'].flatMap((qos) => foldersIn(join(root, qos))));
  return distinct(below.filter((name) => name.startsWith('pod')).map((name) => name.slice('pod'.length)));
}
