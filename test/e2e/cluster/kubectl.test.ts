/** kubectl logs and kubectl debug. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { EphemeralContainer } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { aBusybox, busybox } from '../../support/kubelet/test-node.ts';

describe('kubectl', { concurrency: true }, () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start('cluster-kubectl');
  });
  after(() => node?.destroy());

  test('shows logs of init containers, of all containers, and since a duration', async () => {
    await node.create('talks', {
      restartPolicy: 'Never',
      initContainers: [aBusybox({ name: 'first', sh: 'echo prepared' })],
      containers: [aBusybox({ sh: 'echo out; echo err >&2' }), aBusybox({ name: 'other', sh: 'echo other' })],
    });
    await node.untilEnded('talks');
    assert.equal(await node.kubectl('logs', 'talks', '-c', 'first'), 'prepared\n');
    const all = await node.kubectl('logs', 'talks', '--all-containers', '--prefix');
    assert.deepEqual(all.trimEnd().split('\n').sort(), [
      '[pod/talks/app] err',
      '[pod/talks/app] out',
      '[pod/talks/first] prepared',
      '[pod/talks/other] other',
    ]);
    assert.equal(await node.kubectl('logs', 'talks', '-c', 'other', '--since=1h'), 'other\n');
    assert.equal(await node.kubectl('logs', 'talks', '-c', 'other', '--since-time=2999-01-01T00:00:00Z'), '');
    // A follower of an exited container ends, too.
    assert.equal(await node.kubectl('logs', '-f', 'talks', '-c', 'other'), 'other\n');
  });

  test('debugs a running pod with an ephemeral container in its namespaces', async () => {
    await node.create('target');
    const before = await node.untilRunning('target');
    const command = ['sh', '-c', 'echo debugging; tr "\\0" " " < /proc/1/cmdline; echo; sleep 1000'];
    await node.kubectl('debug', 'target', '-c', 'debugger', `--image=${busybox}`, '--target=app', '--', ...command);
    await node.until('target', 'is debugged', ({ status }) => status?.ephemeralContainerStatuses?.[0]?.state?.running !== undefined);
    assert.equal(await node.kubectl('exec', 'target', '-c', 'debugger', '--', 'echo', 'ran'), 'ran\n');
    const output = await node.kubectl('logs', 'target', '-c', 'debugger');
    assert.match(output, /^debugging\nsh -c trap "exit 0" TERM/);
    const { status } = await node.get('target');
    assert.equal(status?.containerStatuses?.[0]?.containerID, before.status?.containerStatuses?.[0]?.containerID);
    await node.untilEvent('target', 'Started', /./);
  });

  test('an ephemeral container has the settings of its definition', async () => {
    await node.api.create(`/api/v1/namespaces/${node.namespace}/configmaps`, { metadata: { name: 'settings' }, data: { FROM: 'map' } });
    await node.create('roomy', { volumes: [{ name: 'data', emptyDir: {} }] });
    await node.untilRunning('roomy');
    const ephemeral: EphemeralContainer = {
      name: 'inspector',
      image: busybox,
      imagePullPolicy: 'IfNotPresent',
      targetContainerName: 'app',
      command: ['sh', '-c'],
      args: ['echo $FROM $OWN $(id -u) $(pwd) > /data/message; test -t 0 && echo terminal >> /data/message'],
      env: [{ name: 'OWN', value: 'own' }],
      envFrom: [{ configMapRef: { name: 'settings' } }],
      securityContext: { runAsUser: 77 },
      stdin: true,
      stdinOnce: true,
      tty: true,
      terminationMessagePath: '/data/message',
      terminationMessagePolicy: 'File',
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
      workingDir: '/tmp',
    };
    await node.api.patch(`${node.podsPath}/roomy/ephemeralcontainers`, { spec: { ephemeralContainers: [ephemeral] } }, 'strategic-merge');
    const { status } = await node.until(
      'roomy',
      'has an ephemeral container that has ended',
      (pod) => pod.status?.ephemeralContainerStatuses?.[0]?.state?.terminated !== undefined,
    );
    const { exitCode, message } = status?.ephemeralContainerStatuses?.[0]?.state?.terminated ?? {};
    assert.deepEqual([exitCode, message], [0, 'map own 77 /tmp\nterminal\n']);
  });
});
