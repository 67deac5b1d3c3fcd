/** Walks the trees on the node's own disks, in this thread. */
import type { HelperOperations } from '../../../shared/contracts/helper.ts';
import { measureTrees } from '../../../shared/tree-usage/measure-trees.ts';

type Measure = HelperOperations['measureTrees'];

/** Like the helper's operation, with the processor time of all walks so far. */
export function measureTreesHere(): (request: Measure['request']) => Promise<Measure['reply']> {
  let walksCpuMs = 0;
  return async (request) => {
    const reply = measureTrees(request);
    walksCpuMs += reply.trees.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
    return { ...reply, cpuMs: walksCpuMs };
  };
}
