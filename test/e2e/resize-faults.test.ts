/** In-place resizes beside a runtime that fails, lacks the call, or does not answer, and beside a disk that can't be written; with a real API server. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../support/cleanups.ts';
import { startSimulatedMember, type SimulatedMember } from '../support/cluster/simulated-member.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const nodeName = 'resize-faults';
const update = 'UpdateContainerResources';
const cpuOf = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });

describe('a resize beside faults', () => {
  const hooks = new Cleanups();
  let node: SimulatedMember;
  before(async () => {
    // A full disk must not end the pods.
    const config = { evictionHard: { 'memory.available': '1Mi' } };
    node = await startSimulatedMember(hooks, nodeName, {
      config,
      rootBytes: 16 * 1024 * 1024,
    });
  });
  after(() => hooks.run());

  const pathOf = (name: string) => `/api/v1/namespaces/${node.namespace}/pods/${name}`;
  const get = (name: string) => node.cluster.api.get<Pod>(pathOf(name));
  const progressOf = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === 'PodResizeInProgress');
  const pendingOf = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === 'PodResizePending');
  const until = (name: string, what: string, condition: (pod: Pod) => boolean, timeoutMs = 60_000) =>
    waitUntil<Pod | null>(
      `${name} ${what}`,
      async () => {
        const pod = await get(name);
        return condition(pod) ? pod : null;
      },
      timeoutMs,
    );
  const create = async (name: string) => {
    await node.create(name, { containers: [{ name: 'app', image: 'sim/run:1', resources: cpuOf('100m') }] });
    await until(name, 'runs', ({ status }) => status?.phase === 'Running');
  };
  const resize = (name: string, cpu: string) =>
    node.cluster.api.patch(`${pathOf(name)}/resize`, { spec: { containers: [{ name: 'app', resources: cpuOf(cpu) }] } });
  const isResized = (cpu: string) => (pod: Pod) =>
    !progressOf(pod) && pod.status?.containerStatuses?.[0]?.resources?.limits?.['cpu'] === cpu;
  const updates = async () => (await node.runtime.control.counters())[update]?.count ?? 0;

  test('a passing failure is in the condition, and over when the runtime works again', async () => {
    await create('failing');
    await node.runtime.control.fault({ call: update, id: 'failing', kind: 'fail', message: 'out of order', times: 2 });
    await resize('failing', '200m');
    const failing = await until('failing', 'says why', (pod) => progressOf(pod)?.reason === 'Error');
    assert.equal(progressOf(failing)?.message, 'rpc error: code = Unavailable desc = out of order');
    const resized = await until('failing', 'is resized', isResized('200m'));
    assert.equal(resized.status?.containerStatuses?.[0]?.restartCount, 0);
  });

  test('a runtime without the call is asked rarely, and the pod goes on', async () => {
    await create('unimplemented');
    await node.runtime.control.fault({ call: update, id: 'unimplemented', kind: 'fail', code: 12, message: 'unknown method' });
    const before = await updates();
    await resize('unimplemented', '200m');
    await until('unimplemented', 'says why', (pod) => progressOf(pod)?.reason === 'Error');
    await waitUntil('it is asked again', async () => (await updates()) - before >= 3);
    const pod = await get('unimplemented');
    assert.deepEqual([pod.status?.phase, pod.status?.containerStatuses?.[0]?.resources], ['Running', cpuOf('100m')]);
    await node.runtime.control.clearFaults();
    await until('unimplemented', 'is resized', isResized('200m'));
  });

  test('a call that does not return costs its pod only, and is not repeated', async () => {
    await create('hanging');
    await create('deleted');
    await node.runtime.control.fault({ call: update, id: 'hanging', kind: 'hang' });
    const before = await updates();
    await resize('hanging', '200m');
    await until('hanging', 'is in progress', (pod) => progressOf(pod) !== undefined);
    await Promise.all(['next-0', 'next-1', 'next-2'].map(create));
    await node.cluster.api.delete(pathOf('deleted'));
    await waitUntil('the deleted pod is gone', async () => !(await node.cluster.api.find(pathOf('deleted'))));
    await create('resized');
    await resize('resized', '200m');
    await until('resized', 'is resized', isResized('200m'));
    const { status } = await node.cluster.api.get<{ status: { conditions: { type: string; status: string }[] } }>(
      `/api/v1/nodes/${nodeName}`,
    );
    assert.equal(status.conditions.find(({ type }) => type === 'Ready')?.status, 'True');
    assert.equal((await updates()) - before, 2);
    await node.runtime.control.clearFaults();
    await until('hanging', 'is resized', isResized('200m'));
  });

  test('a pod is deleted though the runtime does not answer its update', async () => {
    await create('ending');
    await node.runtime.control.fault({ call: update, id: 'ending', kind: 'hang' });
    await resize('ending', '200m');
    await waitUntil('the call hangs', async () => ((await node.runtime.control.counters())[update]?.inFlight ?? 0) > 0);
    await node.cluster.api.delete(pathOf('ending'));
    // The call has two minutes.
    await waitUntil('the pod is gone', async () => !(await node.cluster.api.find(pathOf('ending'))), 60_000);
    await node.runtime.control.clearFaults();
  });

  const faults: { name: string; error: RegExp; set: () => void; clear: () => void }[] = [
    {
      name: 'full',
      error: /^cannot record the allocation: ENOSPC/,
      // Fails when the disk is full.
      set: () => void execFileSync('sh', ['-c', 'cat /dev/zero > "$1" || true', 'sh', fillPath()], { stdio: 'ignore' }),
      clear: () => rmSync(fillPath()),
    },
    {
      name: 'read-only',
      error: /^cannot record the allocation: EROFS/,
      set: () => void execFileSync('mount', ['-o', 'remount,ro', node.rootFolder]),
      clear: () => void execFileSync('mount', ['-o', 'remount,rw', node.rootFolder]),
    },
  ];
  const fillPath = () => join(node.rootFolder, 'fill');
  for (const { name, error, set, clear } of faults) {
    test(`a resize on a ${name} disk is not granted and says so; the pod runs on, and is resized when the disk can be written`, async () => {
      await create(name);
      const allocated = () => readFileSync(join(node.rootFolder, 'allocated_pods_state'), 'utf8');
      const { metadata, status } = await get(name);
      await waitUntil('the admission is recorded', () => allocated().includes(metadata.uid));
      const [before, updatesBefore] = [allocated(), await updates()];
      set();
      try {
        await resize(name, '200m');
        const deferred = await until(name, 'says why', (pod) => pendingOf(pod) !== undefined);
        assert.equal(pendingOf(deferred)?.reason, 'Deferred');
        assert.match(pendingOf(deferred)?.message ?? '', error);
        assert.deepEqual(deferred.status?.containerStatuses, status?.containerStatuses);
        assert.deepEqual([allocated(), await updates()], [before, updatesBefore]);
      } finally {
        clear();
      }
      // It is tried again after 10 s, or at once when the pod changes.
      await node.cluster.api.patch(pathOf(name), { metadata: { labels: { changed: 'yes' } } });
      const resized = await until(name, 'is resized', (pod) => !pendingOf(pod) && isResized('200m')(pod));
      assert.equal(resized.status?.containerStatuses?.[0]?.restartCount, 0);
    });
  }
});
