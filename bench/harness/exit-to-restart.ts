/** Measures the time from a container's exit until the runtime receives CreateContainer for its successor, one pod after the other. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeletProcess } from '../../lab/kubelet/kubelet-process.ts';
import type { ControlClient } from '../../lab/simulated-runtime/client.ts';

/** Average time between exits. The times are random, so that they do not synchronize with a timer of the kubelet. */
const meanGapMs = 60;
const timeoutMs = 30_000;

/**
 * Ends one container of each pod, its first exit, which no back-off delays. Returns the latencies in ms. Throws when a container was not
 * created again within the timeout.
 */
export async function measureExitToRestart(
  control: ControlClient,
  kubelet: KubeletProcess,
  podNames: readonly string[],
): Promise<readonly number[]> {
  const { containers } = await control.state();
  const endedAt = new Map<string, number>();
  for (const podName of podNames) {
    const container = containers.find((one) => one.podName === podName && one.name === 'app-0' && one.state === 'running');
    if (!container) throw new Error(`${podName} has no running container app-0`);
    endedAt.set(`${container.podUID}/app-0`, await control.exitContainer(container.id, 0));
    await sleep(Math.random() * 2 * meanGapMs);
  }
  const end = performance.now() + timeoutMs;
  for (;;) {
    const createCalls = await control.calls('CreateContainer');
    const latencies = [...endedAt].map(([subject, endedMs]) => {
      const call = createCalls.find((one) => one.subject === subject && one.startMs >= endedMs);
      return call === undefined ? undefined : call.startMs - endedMs;
    });
    if (latencies.every((latency) => latency !== undefined)) return latencies;
    if (performance.now() > end) {
      const missing = latencies.filter((latency) => latency === undefined).length;
      throw new Error(
        `${missing} of ${podNames.length} containers were not created again within ${timeoutMs} ms; the log ends:\n${kubelet.logTail()}`,
      );
    }
    await sleep(100);
  }
}

export function podNames(from: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `pod-${from + index}-bench`);
}
