import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError, grpcCode } from '../../../src/shared/cri/cri-error.ts';
import { RuntimeStats } from '../../../src/workers/stats/runtime-stats/runtime-stats.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aLogger } from '../../support/logger.ts';
import type { SnapshotItem } from '../../../src/shared/state/runtime-snapshot.ts';
import type { SandboxID, PodUID } from '../../../src/shared/kubernetes/ids.ts';

const sandbox = {
  kind: 'sandbox',
  id: 's' as SandboxID,
  sandboxID: 's' as SandboxID,
  podUID: 'u' as PodUID,
  podName: 'p',
  podNamespace: 'n',
};
const items = new Map([['s', { ...sandbox, state: 'running', attempt: 0, createdAtMs: 1, containerName: '', image: '' } as SnapshotItem]]);
const stats = [{ attributes: { id: 's' }, linux: { cpu: { timestamp: 1n, usageCoreNanoSeconds: { value: 5n } }, containers: [] } }];

function aRuntime(replies: Readonly<Record<string, () => Promise<unknown>>>) {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const calls: string[] = [];
  const call = (method: string) => (calls.push(method), replies[method]!());
  const runtime = new RuntimeStats({ runtime: { call } as never, clock, logger });
  return { runtime, clock, lines, calls };
}
const refused = (code: number) => () => Promise.reject(new CriError('Call', code, 'no'));

test('usage is that of the last reply, until it is too old', async () => {
  let isUp = true;
  const { runtime, clock, lines } = aRuntime({
    listPodSandboxStats: () => (isUp ? Promise.resolve({ stats }) : refused(grpcCode.UNAVAILABLE)()),
  });
  assert.equal(runtime.usage(items).size, 0);
  await runtime.refresh();
  assert.equal(runtime.usage(items).get('s')?.values.cpuUsageNs, undefined);
  assert.equal(runtime.usage(items).get('pod u')?.values.cpuUsageNs, 5n);
  isUp = false;
  await clock.advance(30_000);
  for (let time = 0; time < 3; time += 1) await runtime.refresh();
  assert.equal(runtime.usage(items).size, 2);
  await clock.advance(1);
  assert.equal(runtime.usage(items).size, 0);
  assert.equal(lines.length, 1);
});

test('a call that hangs is the only one', async () => {
  const { runtime, calls } = aRuntime({ listPodSandboxStats: () => new Promise(() => {}) });
  void runtime.refresh();
  await runtime.refresh();
  assert.equal(calls.length, 1);
});

test('a runtime that stops implementing the call has no usage', async () => {
  let isUp = true;
  const { runtime } = aRuntime({
    listPodSandboxStats: () => (isUp ? Promise.resolve({ stats }) : refused(grpcCode.UNIMPLEMENTED)()),
  });
  await runtime.refresh();
  isUp = false;
  await runtime.refresh();
  assert.equal(runtime.usage(items).size, 0);
});

test('a runtime without metrics has none, and one that does not answer fails the request', async () => {
  assert.equal(await aRuntime({ listMetricDescriptors: refused(grpcCode.UNIMPLEMENTED) }).runtime.metrics(), undefined);
  await assert.rejects(aRuntime({ listMetricDescriptors: refused(grpcCode.DEADLINE_EXCEEDED) }).runtime.metrics(), CriError);
});

test('descriptors are read once, and again after a failure', async () => {
  let isUp = true;
  const { runtime, calls } = aRuntime({
    listMetricDescriptors: async () => ({ descriptors: [] }),
    listPodSandboxMetrics: () => (isUp ? Promise.resolve({ podMetrics: [] }) : refused(grpcCode.UNAVAILABLE)()),
  });
  await runtime.metrics();
  await runtime.metrics();
  isUp = false;
  await assert.rejects(runtime.metrics());
  isUp = true;
  await runtime.metrics();
  assert.equal(calls.filter((method) => method === 'listMetricDescriptors').length, 2);
});
