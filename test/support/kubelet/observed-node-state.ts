/**
 * Observes the pods' state on a node through its runtime and kernel, independently of the kubelet: sandboxes, containers, mounts, directories,
 * cgroups. For tests that assert that nothing is lost, duplicated or left behind.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ContainerState, PodSandboxState, type Container, type PodSandbox } from '../../../src/shared/cri/generated/cri-v1.ts';
import { waitUntil } from '../runtime/simulated-runtime.ts';
import type { TestNode } from './test-node.ts';

const uidLabel = 'io.kubernetes.pod.uid';

export interface ObservedNodeState {
  /** Pod UIDs with one entry per ready sandbox. */
  readonly readySandboxes: readonly string[];
  /** Pod UIDs with one entry per running container. */
  readonly runningContainers: readonly string[];
  /** Distinct pod UIDs of all sandboxes and containers in any state. */
  readonly inRuntime: readonly string[];
  /** Pod UIDs with a directory below the root directory. */
  readonly folders: readonly string[];
  /** Pod UIDs with a mount below the root directory. */
  readonly mounts: readonly string[];
  /** Pod UIDs with a cgroup in any hierarchy. */
  readonly cgroups: readonly string[];
}

export async function containersOf(node: TestNode): Promise<readonly Container[]> {
  return (await node.cri.runtime.call('listContainers', {}, { deadlineMs: 30_000 })).containers;
}

export async function sandboxesOf(node: TestNode): Promise<readonly PodSandbox[]> {
  return (await node.cri.runtime.call('listPodSandbox', {}, { deadlineMs: 30_000 })).items;
}

/** The IDs of running containers, of all pods or of one. */
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
 * containerd can lose the task of a container when its client dies during the start. It then never removes that container or its sandbox, and
 * logs an error for each attempt. The kubelet can only request the removal.
 */
function stuckInRuntime({ containerd }: TestNode): (containerID: string) => boolean {
  const refused = readFileSync(containerd.logFile, 'utf8').matchAll(/cannot delete running task ([0-9a-f]{64})/g);
  const ids = new Set([...refused].map(([, id]) => id));
  return (id) => ids.has(id);
}

/** Waits until each of these pods has exactly one sandbox and one running container, and no other pod has anything on the node. */
export async function untilOnlyThese(node: TestNode, uids: readonly string[], timeoutMs = 90_000): Promise<void> {
  const desired = uids.toSorted();
  let last: ObservedNodeState | undefined;
  const hasDesiredState = async () => {
    last = await observeNodeState(node);
    const { readySandboxes, runningContainers, inRuntime, folders, mounts, cgroups } = last;
    const exact = [readySandboxes, runningContainers, inRuntime, folders, cgroups];
    return exact.every((observed) => isEqual(observed, desired)) && mounts.every((uid) => desired.includes(uid));
  };
  await waitUntil('the node has the desired state', hasDesiredState, timeoutMs).catch((err: unknown) => {
    if (!last) throw err;
    const { mounts, ...exact } = last;
    const differenceOf = (observed: readonly string[]) => ({
      missing: desired.filter((uid) => !observed.includes(uid)),
      surplus: surplus(observed, desired),
    });
    const difference = Object.fromEntries(Object.entries(exact).map(([kind, observed]) => [kind, differenceOf(observed)]));
    assert.fail(`${String(err)}: ${JSON.stringify({ ...difference, mounts: surplus(mounts, desired) }, null, 1)}`);
  });
}

function uidOf({ labels }: { readonly labels: Readonly<Record<string, string>> }): string {
  return labels[uidLabel] ?? 'no pod';
}

/** Returns duplicates and UIDs that are not desired. */
function surplus(observed: readonly string[], desired: readonly string[]): string[] {
  return observed.filter((uid, i) => !desired.includes(uid) || observed.indexOf(uid) !== i);
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

/** Lists pod cgroups of all cgroup v1 hierarchies or of the cgroup v2 hierarchy. */
function podCgroups(cgroupRoot: string): string[] {
  const hierarchies = ['', ...foldersIn('/sys/fs/cgroup')].map((name) => join('/sys/fs/cgroup', name, cgroupRoot, 'kubepods'));
  const below = hierarchies.flatMap((root) => ['', 'burstable', 'besteffort'].flatMap((qos) => foldersIn(join(root, qos))));
  return distinct(below.filter((name) => name.startsWith('pod')).map((name) => name.slice('pod'.length)));
}
