import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigReload } from '../../../../src/main/config-reload/index.ts';
import type { LoaderReply } from '../../../../src/main/config-reload/loader-thread.ts';
import { LiveConfiguration } from '../../../../src/main/config/live-configuration.ts';
import type { KubeletConfiguration } from '../../../../src/main/config/kubelet-configuration.ts';
import type { RecordedEvent } from '../../../../src/shared/contracts/event.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { kubeletOptions } from '../../../support/kubelet/kubelet-options.ts';
import { aLogger } from '../../../support/logger.ts';

function aKubelet(fields: Partial<KubeletConfiguration> = {}) {
  const config = { ...kubeletOptions(fields).live.running };
  const live = new LiveConfiguration(config);
  const recorded = aLogger();
  const kubelet = {
    live,
    files: { config } as LoaderReply,
    loads: 0,
    applied: [] as { readonly fields: string[]; readonly threshold: number }[],
    events: [] as RecordedEvent[],
    observed: [] as string[],
    lines: () => recorded.lines.map(({ msg }) => msg),
    /** Resolves the load under way; by default loads end at once. */
    hold: null as Promise<void> | null,
    change: (change: Partial<KubeletConfiguration>) => (kubelet.files = { config: { ...config, ...change } }),
    status: () =>
      (JSON.parse(live.configz()) as { kubeletconfigreload?: { outcome: string; error?: string; needsRestart: string[] } })
        .kubeletconfigreload,
  };
  const reload = new ConfigReload({
    live,
    load: async () => {
      kubelet.loads += 1;
      const reply = kubelet.files;
      await kubelet.hold;
      return reply;
    },
    refuse: ({ maxPods }) => (maxPods > 1000 ? 'too many pods' : null),
    apply: (changed) => kubelet.applied.push({ fields: [...changed], threshold: live.view.imageGCHighThresholdPercent }),
    observer: {
      reloading: () => kubelet.observed.push('reloading'),
      reloaded: () => kubelet.observed.push(`reloaded ${kubelet.loads}`),
    },
    nodeName: 'node-1',
    events: { record: (event) => void kubelet.events.push(event) },
    clock: new FakeClock(),
    logger: recorded.logger,
  });
  return Object.assign(kubelet, { reload });
}

const reasons = ({ events }: { readonly events: readonly RecordedEvent[] }) => events.map(({ reason }) => reason);

test('live fields are applied at once, before the copies are replaced, and recorded as an event of the node', async () => {
  const kubelet = aKubelet();
  kubelet.change({ imageGCHighThresholdPercent: 70, evictionHard: { 'memory.available': '1Gi' } });
  kubelet.reload.request('file');
  await settle();
  assert.deepEqual(kubelet.applied, [{ fields: ['imageGCHighThresholdPercent', 'evictionHard'], threshold: 70 }]);
  assert.deepEqual(kubelet.live.view.evictionHard, { 'memory.available': '1Gi' });
  assert.deepEqual(kubelet.events, [
    {
      object: { kind: 'Node', namespace: '', name: 'node-1', uid: 'node-1' },
      type: 'Normal',
      reason: 'ConfigurationReloaded',
      message: 'Applied imageGCHighThresholdPercent, evictionHard',
    },
  ]);
  assert.equal(kubelet.status()?.outcome, 'applied');
});

test('a field that needs a restart is reported once, and never applied', async () => {
  const kubelet = aKubelet();
  kubelet.change({ port: 1 });
  for (let i = 0; i < 3; i += 1) {
    kubelet.reload.request('file');
    await settle();
  }
  assert.deepEqual(reasons(kubelet), ['ConfigurationNeedsRestart']);
  assert.deepEqual([kubelet.live.view.port, kubelet.applied], [10250, []]);
  assert.deepEqual([kubelet.status()?.outcome, kubelet.status()?.needsRestart], ['unchanged', ['port']]);
  kubelet.change({});
  kubelet.reload.request('file');
  await settle();
  assert.deepEqual(kubelet.status()?.needsRestart, []);
});

test('an error keeps everything as it is, and is reported once until it changes', async () => {
  const kubelet = aKubelet();
  kubelet.change({ port: 1 });
  kubelet.reload.request('file');
  await settle();
  kubelet.files = { error: 'line 3: no such field' };
  for (const cause of ['file', 'file', 'SIGHUP'] as const) {
    kubelet.reload.request(cause);
    await settle();
  }
  const failures = kubelet.lines().filter((line) => line === 'Could not reload the configuration; the running one stays in force');
  assert.equal(failures.length, 2);
  assert.deepEqual(reasons(kubelet), ['ConfigurationNeedsRestart', 'ConfigurationReloadFailed']);
  assert.deepEqual(kubelet.status(), {
    time: kubelet.status() && '2026-01-01T00:00:00.000Z',
    outcome: 'failed',
    error: 'line 3: no such field',
    needsRestart: ['port'],
  });
  kubelet.files = { error: 'line 4: another' };
  kubelet.reload.request('file');
  await settle();
  assert.equal(kubelet.events.length, 3);
});

test('a configuration with which the kubelet could not start on this machine is refused as a whole', async () => {
  const kubelet = aKubelet();
  kubelet.change({ maxPods: 1001, imageGCHighThresholdPercent: 70 });
  kubelet.reload.request('file');
  await settle();
  assert.deepEqual([kubelet.applied, kubelet.status()?.error], [[], 'too many pods']);
});

test('a SIGHUP without a change is answered in the log', async () => {
  const kubelet = aKubelet();
  kubelet.reload.request('file');
  await settle();
  assert.deepEqual(kubelet.lines(), []);
  kubelet.reload.request('SIGHUP');
  await settle();
  assert.deepEqual(kubelet.lines(), ['No field of the configuration that can change without a restart has changed']);
});

test('the end of a reload is observed when none is requested any more, also after an error', async () => {
  const kubelet = aKubelet();
  const held = Promise.withResolvers<void>();
  kubelet.hold = held.promise;
  kubelet.reload.request('file');
  kubelet.files = { error: 'line 3: no such field' };
  kubelet.reload.request('SIGHUP');
  await settle();
  assert.deepEqual(kubelet.observed, ['reloading']);
  held.resolve();
  await settle();
  assert.deepEqual(kubelet.observed, ['reloading', 'reloaded 2']);
});

test('requests during a reload cause one more, which has the last content', async () => {
  const kubelet = aKubelet();
  const held = Promise.withResolvers<void>();
  kubelet.hold = held.promise;
  kubelet.change({ imageGCHighThresholdPercent: 70 });
  kubelet.reload.request('file');
  await settle();
  kubelet.change({ imageGCHighThresholdPercent: 60 });
  for (let i = 0; i < 100; i += 1) kubelet.reload.request('file');
  assert.equal(kubelet.loads, 1);
  held.resolve();
  await settle();
  assert.equal(kubelet.loads, 2);
  assert.equal(kubelet.live.view.imageGCHighThresholdPercent, 60);
});

test('a closed part applies nothing', async () => {
  const kubelet = aKubelet();
  const held = Promise.withResolvers<void>();
  kubelet.hold = held.promise;
  kubelet.change({ imageGCHighThresholdPercent: 70 });
  kubelet.reload.request('file');
  kubelet.reload.close();
  held.resolve();
  await settle();
  kubelet.reload.request('SIGHUP');
  await settle();
  assert.deepEqual([kubelet.applied, kubelet.events, kubelet.loads], [[], [], 1]);
});

test('an error message of any length fits into an event', async () => {
  const kubelet = aKubelet();
  kubelet.files = { error: 'x'.repeat(100_000) };
  kubelet.reload.request('file');
  await settle();
  assert.ok(Buffer.byteLength(kubelet.events[0]?.message ?? '') <= 1024);
});

test('the view keeps the reservations that reservedSystemCPUs makes, and /configz shows the files’', async () => {
  const kubelet = aKubelet({ reservedSystemCPUs: '0-1' });
  assert.equal(kubelet.live.view.systemReserved['cpu'], '2');
  kubelet.change({ imageGCHighThresholdPercent: 70 });
  kubelet.reload.request('file');
  await settle();
  assert.equal(kubelet.live.view.systemReserved['cpu'], '2');
  assert.equal(kubelet.live.running.systemReserved['cpu'], undefined);
});
