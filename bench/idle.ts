/** Measures CPU and memory of a kubelet with 500 running pods and no changes. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Benchmark } from './harness/benchmark.ts';
import { readIdleUsage } from './harness/idle-usage.ts';
import { startSimulatedNode } from './harness/simulated-node.ts';

const pods = 500;
const containersPerPod = 2;
/** Waits for the work that follows the starts: garbage collection, back-offs, the last inspections. */
const settleMs = 20_000;
const windowMs = 10_000;
const windows = 6;
const cpuGoal = 0.1;
const rssGoalMB = 250;

export const benchmark: Benchmark = {
  name: 'idle',
  about: `${pods} pods with ${pods * containersPerPod} containers run on the simulated runtime (with events) and nothing changes; all of the daemon's threads and its child processes. Floors: an empty node.`,
  needs: 'none',
  async run(context) {
    context.progress('an empty node …');
    const empty = await measure(context, 0);
    const full = await measure(context, pods);
    return {
      repeats: `${windows} windows of ${windowMs / 1000} s (the median), ${settleMs / 1000} s after the last start`,
      measurements: [
        {
          what: `CPU, ${pods} pods`,
          value: full.cores,
          unit: 'cores',
          floor: { what: 'no pods', value: empty.cores },
          goal: { text: `${cpuGoal} cores`, met: full.cores <= cpuGoal },
        },
        {
          what: `resident memory, ${pods} pods`,
          value: full.rssMB,
          unit: 'MB',
          floor: { what: 'no pods', value: empty.rssMB },
          goal: { text: `${rssGoalMB} MB`, met: full.rssMB <= rssGoalMB },
        },
        { what: 'processes', value: full.processes, unit: '' },
      ],
    };
  },
};

async function measure(context: Parameters<Benchmark['run']>[0], count: number) {
  const { kubelet, runtime } = await startSimulatedNode(context, { pods: count, containersPerPod });
  await sleep(settleMs);
  const usage = await readIdleUsage(kubelet.pid, { windows, windowMs });
  await kubelet.stop();
  await runtime.stop();
  return usage;
}
