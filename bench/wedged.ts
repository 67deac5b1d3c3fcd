/** Measures how a container whose status call never returns delays other pods. */
import type { Benchmark } from './harness/benchmark.ts';
import { measureExitToRestart, podNames } from './harness/exit-to-restart.ts';
import { startSimulatedNode } from './harness/simulated-node.ts';
import { percentile } from './harness/statistics.ts';

const pods = 300;
const share = 140;
/** Tolerance between the two halves of a run: the p99 of 140 samples is the second largest one. */
const noiseMs = 10;

export const benchmark: Benchmark = {
  name: 'wedged',
  about: `Exit → restart call of ${share} pods while the status of one other container hangs; ${pods} pods, simulated runtime with events. The floor is the same node before the call hangs.`,
  needs: 'none',
  async run(context) {
    const { control, kubelet } = await startSimulatedNode(context, { pods, containersPerPod: 1 });
    const before = await measureExitToRestart(control, kubelet, podNames(0, share));
    const { containers } = await control.state();
    const wedged = containers.find(({ podName, state }) => podName === `pod-${pods - 1}-bench` && state === 'running');
    if (!wedged) throw new Error('the pod to be wedged does not run');
    await control.fault({ call: 'ContainerStatus', id: wedged.id, kind: 'hang' });
    // The inspection after the exit hangs.
    await control.exitContainer(wedged.id, 1);
    const during = await measureExitToRestart(control, kubelet, podNames(share, share));
    await control.clearFaults();
    const both = (percent: number) => ({
      value: percentile(during, percent),
      floor: { what: 'nobody wedged', value: percentile(before, percent) },
    });
    const p99 = both(99);
    return {
      repeats: `${share} exits before, ${share} during`,
      measurements: [
        { what: 'exit → restart call p50, one container wedged', unit: 'ms', ...both(50) },
        {
          what: 'exit → restart call p99, one container wedged',
          unit: 'ms',
          ...p99,
          goal: { text: `unchanged (± ${noiseMs} ms)`, met: p99.value <= p99.floor.value + noiseMs },
        },
      ],
    };
  },
};
