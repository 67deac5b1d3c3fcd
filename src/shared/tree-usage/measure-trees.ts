/**
 * Measures directory trees in slices. A tree with a quota project of its own is not walked: the filesystem knows its usage. Owns the walks that
 * have begun in this thread. A walk blocks the thread: on a filesystem that may hang, only the helper process may walk.
 */
import type { HelperOperations, TreeRequest, TreeUsage } from '../contracts/helper.ts';
import { messageOf } from '../errors/kubelet-error.ts';
import { TreeWalk } from './tree-walk.ts';
import { usageOfProject } from './usage-of-project.ts';

const walks = new Map<string, TreeWalk>();
/** The limit in elapsed time, besides the limits in CPU time: on a slow disk, a walk waits more than it computes. */
const maxRequestMs = 1000;

type Measure = HelperOperations['measureTrees'];

export function measureTrees({ trees, forget, treeCpuMs, totalCpuMs }: Measure['request']): Measure['reply'] {
  for (const id of forget) endWalk(id);
  const beganCpuMs = cpuMs();
  const beganAtMs = performance.now();
  const isOver = (sinceCpuMs: number, maxCpuMs: number) =>
    cpuMs() - sinceCpuMs >= maxCpuMs || performance.now() - beganAtMs >= maxRequestMs;
  const measured: TreeUsage[] = [];
  for (const tree of trees) {
    if (measured.length > 0 && isOver(beganCpuMs, totalCpuMs)) break;
    const treeBeganCpuMs = cpuMs();
    const usage = measure(tree, () => isOver(treeBeganCpuMs, treeCpuMs));
    measured.push({ ...usage, id: tree.id, cpuMs: cpuMs() - treeBeganCpuMs });
  }
  return { trees: measured, cpuMs: cpuMs() };
}

function measure({ id, path, keep, project }: TreeRequest, isSliceOver: () => boolean): Omit<TreeUsage, 'id' | 'cpuMs'> {
  // Null: the filesystem does not count this directory, so it is walked.
  const usage = project === undefined ? null : usageOfProject(path, project);
  if (usage) {
    endWalk(id);
    return { outcome: 'done', ...usage, isIncomplete: false, isFromQuota: true };
  }
  try {
    const walk = walks.get(id) ?? new TreeWalk(path);
    const isDone = walk.run(isSliceOver);
    const { bytes, inodes, isIncomplete } = walk;
    if (!isDone && keep) {
      walks.set(id, walk);
      return { outcome: 'begun', bytes, inodes, isIncomplete };
    }
    walk.close();
    walks.delete(id);
    return { outcome: isDone ? 'done' : 'stopped', bytes, inodes, isIncomplete };
  } catch (err) {
    endWalk(id);
    const { code } = err as NodeJS.ErrnoException;
    return { outcome: 'failed', bytes: 0, inodes: 0, isIncomplete: true, message: messageOf(err), ...(code === undefined ? {} : { code }) };
  }
}

function endWalk(id: string): void {
  walks.get(id)?.close();
  walks.delete(id);
}

/** The CPU time of this thread since its start. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
