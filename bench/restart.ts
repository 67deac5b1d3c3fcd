/** Measures how soon an exited container is created again, with and without the runtime's event stream. */
import type { Benchmark, BenchContext, Measurement } from './harness/benchmark.ts';
import { measureExitToRestart, podNames } from './harness/exit-to-restart.ts';
import { startSimulatedNode } from './harness/simulated-node.ts';
import { percentile } from './harness/statistics.ts';

const pods = 200;
const goalMs = 50;
const relistPeriodMs = 1000;

export const benchmark: Benchmark = {
  name: 'restart',
  about: `A container ends (code 0, restartPolicy Always) → the runtime receives CreateContainer for its successor; ${pods} pods on the simulated runtime, whose calls take no time. The floor is 0: the kubelet causes all of the delay.`,
  needs: 'none',
  async run(context) {
    const withEvents = await measure(context, true, goalMs, `${goalMs} ms`);
    const without = await measure(context, false, relistPeriodMs + goalMs, `one relist period (${relistPeriodMs} ms) + ${goalMs} ms`);
    return { repeats: `${pods} exits each, at random times`, measurements: [...withEvents, ...without] };
  },
};

async function measure(context: BenchContext, events: boolean, goal: number, text: string): Promise<Measurement[]> {
  const { control, kubelet, runtime } = await startSimulatedNode(context, { pods, containersPerPod: 1, runtime: { events } });
  const latencies = await measureExitToRestart(control, kubelet, podNames(0, pods));
  await kubelet.stop();
  await runtime.stop();
  const p99 = percentile(latencies, 99);
  const how = events ? 'with events' : 'without events';
  return [
    { what: `exit → restart call p50, ${how}`, value: percentile(latencies, 50), unit: 'ms' },
    { what: `exit → restart call p99, ${how}`, value: p99, unit: 'ms', goal: { text, met: p99 <= goal } },
  ];
}
