/** Random but reproducible server failures, watch delays and foreign writes. The invariants must hold throughout. */
import assert from 'node:assert/strict';
import { PodManager } from '../../../../../src/main/pods/pod-manager.ts';
import { StatusManager } from '../../../../../src/main/pods/status/index.ts';
import type { PodStatus } from '../../../../../src/shared/kubernetes/api.ts';
import { apiError } from '../../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { FakePodApi } from '../../../../support/api-server/fake-pod-api.ts';
import { silentLogger } from '../../../../support/logger.ts';
import { aPodTimelines } from '../../../../support/pods/pod-parts.ts';
import { aPod } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const startTime = '2026-01-01T00:00:00Z';
const deletionTimestamp = startTime;
const isTerminal = (phase: string | undefined) => phase === 'Failed' || phase === 'Succeeded';

/** mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

table('foreign writes survive, the kubelet’s last status arrives, and deleted pods are removed once under random failures', (row) => {
  for (const seed of [1, 2, 3, 4]) {
    row(`foreign writes survive, the kubelet’s last status arrives, and deleted pods are removed once (seed ${seed})`, async () => {
      const random = randomOf(seed);
      const api = new FakePodApi();
      const clock = new FakeClock();
      const podManager = new PodManager();
      const manager = new StatusManager({
        client: api,
        apiPod: api.apiPod,
        podManager,
        firstStatusDelayMs: 0,
        timelines: aPodTimelines(clock),
        clock,
        logger: silentLogger,
        random,
      });
      const names = ['a', 'b', 'c', 'd'];
      const pods = names.map((name) =>
        aPod({ metadata: { name, uid: name, annotations: { 'kubernetes.io/config.source': 'api' } }, status: { phase: 'Pending' } }),
      );
      for (const pod of pods) api.add(pod);
      const terminal = new Map<string, string>();
      const gates = new Map<string, string>();
      const last = new Map<string, PodStatus>();
      let address = 0;

      for (let step = 0; step < 150; step += 1) {
        const pod = pods[Math.floor(random() * pods.length)]!;
        const { name } = pod.metadata;
        const action = random();
        if (action < 0.5) {
          const status: PodStatus = {
            phase: 'Running',
            startTime,
            podIP: `10.0.0.${(address += 1)}`,
            conditions: [{ type: 'Ready', status: random() < 0.5 ? 'True' : 'False' }],
          };
          last.set(name, status);
          manager.set({ pod, status, couldHaveRunningContainers: true, isFinished: false });
        } else if (action < 0.6) {
          gates.set(name, String(step));
          const kept = (api.pods.get(name)?.status?.conditions ?? []).filter(({ type }) => type !== 'gate');
          api.change(name, { status: { conditions: [...kept, { type: 'gate', status: String(step) }] } });
        } else if (action < 0.62) {
          terminal.set(name, 'Failed');
          api.change(name, { status: { phase: 'Failed', reason: 'NodeLost' } });
        } else if (action < 0.7) {
          api.failure = random() < 0.5 ? apiError(0, 'Unreachable') : apiError(500, 'InternalError');
        } else if (action < 0.8) {
          api.failure = null;
        } else if (action < 0.9) {
          api.syncWatch();
        } else {
          await clock.advance(random() * 3000);
        }
        if (random() < 0.3) await settle();
        for (const [podName, phase] of terminal) assert.equal(api.pods.get(podName)?.status?.phase, phase);
      }

      api.failure = null;
      api.syncWatch();
      manager.syncAll();
      await clock.advance(60_000);
      for (const [name, status] of last) {
        const stored = api.pods.get(name)!.status!;
        assert.equal(stored.podIP, status.podIP);
        const isReady = stored.conditions?.find(({ type }) => type === 'Ready')?.status;
        // A pod with a foreign terminal phase is never reported as ready.
        if (!terminal.has(name)) assert.equal(isReady, status.conditions?.[0]?.status);
        assert.equal(stored.conditions?.find(({ type }) => type === 'gate')?.status, gates.get(name));
        assert.equal(isTerminal(stored.phase), terminal.has(name));
      }

      for (const pod of pods) {
        api.change(pod.metadata.name, { metadata: { deletionTimestamp } });
        manager.set({ pod, status: { phase: 'Failed', startTime }, couldHaveRunningContainers: false, isFinished: true });
      }
      api.syncWatch();
      manager.syncAll();
      await clock.advance(60_000);
      assert.equal(api.pods.size, 0);
      assert.deepEqual(
        api.calls.filter((call) => call.startsWith('DELETE')).toSorted(),
        names.map((name) => `DELETE ${name}`),
      );
    });
  }
});
