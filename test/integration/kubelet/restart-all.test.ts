/** The restart rule RestartAllContainers in a whole kubelet, from the exit of a container to the API status. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StandaloneNode } from '../../support/kubelet/standalone-node.ts';

test('an exit that matches the rule RestartAllContainers restarts all containers in the same sandbox', async (t) => {
  const node = await StandaloneNode.start(t);
  await node.startKubelet();
  const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
  node.writeManifest('train.json', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'train' },
    spec: {
      dnsPolicy: 'Default',
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 2,
      initContainers: [{ name: 'prepare', image: 'sim/exit:0' }],
      containers: [
        { name: 'app', image: 'sim/run:1' },
        { name: 'watcher', image: 'sim/run:1', restartPolicy: 'Never', restartPolicyRules },
      ],
    },
  });
  await node.waitForPod('train', 'is ready', ({ status }) => status?.containerStatuses?.every(({ ready }) => ready) === true);
  const before = await node.runtime.control.state();
  const watcher = before.containers.find(({ name }) => name === 'watcher');
  await node.runtime.control.exitContainer(watcher!.id, 42);
  const pod = await node.waitForPod('train', 'is ready again', ({ status }) => {
    const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    return statuses.every(({ ready, restartCount }) => ready && restartCount > 0);
  });
  const after = await node.runtime.control.state();
  assert.deepEqual(
    after.sandboxes.map(({ id }) => id),
    before.sandboxes.map(({ id }) => id),
  );
  assert.deepEqual(after.containers.map(({ name }) => name).sort(), ['app', 'prepare', 'watcher']);
  assert.ok(after.containers.every(({ id }) => before.containers.every((old) => old.id !== id)));
  assert.equal(pod.status?.conditions?.find(({ type }) => type === 'AllContainersRestarting')?.status, 'False');
  assert.equal(pod.status?.containerStatuses?.[0]?.lastState?.terminated?.reason, 'RestartingAllContainers');
});
