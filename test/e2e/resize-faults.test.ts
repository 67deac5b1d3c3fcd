/** In-place resizes beside a runtime that fails, lacks the call, or does not answer; with a real API server and the simulated runtime. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { startSimulatedMember, type SimulatedMember } from '../support/cluster/simulated-member.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const nodeName = 'resize-faults';
const update = 'UpdateContainerResources';
const cpuOf = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });

describe('a resize beside a runtime with faults', () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  let node: SimulatedMember;
  before(async () => {
    node = await startSimulatedMember({ after: (clean) => void cleanups.unshift(clean) }, nodeName);
  });
  after(async () => {
    for (const clean of cleanups) await clean();
  });

  const pathOf = (name: string) => `/api/v1/namespaces/${node.namespace}/pods/${name}`;
  const get = (name: string) => node.cluster.api.get<Pod>(pathOf(name));
  const progressOf = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === 'PodResizeInProgress');
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
});
