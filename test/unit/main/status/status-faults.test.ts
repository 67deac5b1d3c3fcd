/** A server that fails, is slow to be seen, and is written to by others, at random but the same each time: what must hold all the same. */
import assert from 'node:assert/strict';
import { PodManager } from '../../../../src/main/pods/pod-manager.ts';
import { StatusManager } from '../../../../src/main/status/index.ts';
import type { PodStatus } from '../../../../src/shared/kubernetes/api.ts';
import { apiError } from '../../../support/fake-api.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { FakePodApi } from '../../../support/fake-pod-api.ts';
import { silentLogger } from '../../../support/logger.ts';
import { aPod } from '../../../support/pods.ts';
import { table } from '../../../support/table.ts';

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

table('what others said last stays, the kubelet’s last word arrives, and deleted pods go, once each, whatever happens', (row) => {
  for (const seed of [1, 2, 3, 4]) {
    row(`what others said last stays, the kubelet’s last word arrives, and deleted pods go, once each (${seed})`, async () => {
      const random = randomOf(seed);
      const api = new FakePodApi();
      const clock = new FakeClock();
      const podManager = new PodManager();
      const manager = new StatusManager({ client: api, apiPod: api.apiPod, podManager, clock, logger: silentLogger, random });
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
        const what = random();
        if (what < 0.5) {
          const status: PodStatus = {
            phase: 'Running',
            startTime,
            podIP: `10.0.0.${(address += 1)}`,
            conditions: [{ type: 'Ready', status: random() < 0.5 ? 'True' : 'False' }],
          };
          last.set(name, status);
          manager.set({ pod, status, couldHaveRunningContainers: true, isFinished: false });
        } else if (what < 0.6) {
          gates.set(name, String(step));
          const others = (api.pods.get(name)?.status?.conditions ?? []).filter(({ type }) => type !== 'gate');
          api.change(name, { status: { conditions: [...others, { type: 'gate', status: String(step) }] } });
        } else if (what < 0.62) {
          terminal.set(name, 'Failed');
          api.change(name, { status: { phase: 'Failed', reason: 'NodeLost' } });
        } else if (what < 0.7) {
          api.failure = random() < 0.5 ? apiError(0, 'Unreachable') : apiError(500, 'InternalError');
        } else if (what < 0.8) {
          api.failure = null;
        } else if (what < 0.9) {
          api.syncWatch();
        } else {
          await clock.advance(random() * 3000);
        }
        if (random() < 0.3) await settle();
        for (const [which, phase] of terminal) assert.equal(api.pods.get(which)?.status?.phase, phase);
      }

      api.failure = null;
      api.syncWatch();
      manager.sweep();
      await clock.advance(60_000);
      for (const [name, status] of last) {
        const there = api.pods.get(name)!.status!;
        assert.equal(there.podIP, status.podIP);
        const isReady = there.conditions?.find(({ type }) => type === 'Ready')?.status;
        // Of a pod that others have ended it is not said.
        if (!terminal.has(name)) assert.equal(isReady, status.conditions?.[0]?.status);
        assert.equal(there.conditions?.find(({ type }) => type === 'gate')?.status, gates.get(name));
        assert.equal(isTerminal(there.phase), terminal.has(name));
      }

      for (const pod of pods) {
        api.change(pod.metadata.name, { metadata: { deletionTimestamp } });
        manager.set({ pod, status: { phase: 'Failed', startTime }, couldHaveRunningContainers: false, isFinished: true });
      }
      api.syncWatch();
      manager.sweep();
      await clock.advance(60_000);
      assert.equal(api.pods.size, 0);
      assert.deepEqual(
        api.calls.filter((call) => call.startsWith('DELETE')).toSorted(),
        names.map((name) => `DELETE ${name}`),
      );
    });
  }
});
