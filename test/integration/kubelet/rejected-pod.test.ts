/** A whole kubelet rejects a pod. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StandaloneNode } from '../../support/kubelet/standalone-node.ts';

test('a pod with a forbidden sysctl is Failed and never starts, also after a restart of the kubelet', async (t) => {
  const node = await StandaloneNode.start(t);
  const securityContext = { sysctls: [{ name: 'net.core.somaxconn', value: '1024' }] };
  const spec = { dnsPolicy: 'Default', securityContext, containers: [{ name: 'app', image: 'sim/run:1' }] };
  node.writeManifest('web.json', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec });
  for (let start = 0; start < 2; start += 1) {
    await node.startKubelet();
    const { status } = await node.waitForPod('web', 'has failed', (pod) => pod.status?.phase === 'Failed');
    assert.equal(status?.reason, 'SysctlForbidden');
    assert.equal(status?.message, 'Pod was rejected: forbidden sysctl: "net.core.somaxconn" not allowlisted');
    await node.stopKubelet();
  }
  await node.startKubelet({ allowedUnsafeSysctls: ['net.core.*'] });
  await node.waitForPod('web', 'runs once it is allowed', (pod) => pod.status?.phase === 'Running');
  assert.equal((await node.runtime.control.state()).sandboxes.length, 1);
});
