/** Secrets, config maps and tokens: written with kubectl, read in the container, on a real node of a real cluster. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { sharedCluster, type TestCluster } from '../../support/cluster/control-plane.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../../support/kubelet/test-node.ts';

const nodeName = 'cluster-volumes';

describe('API objects in a pod', () => {
  const hooks = new Cleanups();
  let cluster: TestCluster;
  let node: TestNode;
  let namespace: string;

  const kubectl = (...args: string[]) => cluster.kubectl('-n', namespace, ...args);
  const podPath = (name: string) => `/api/v1/namespaces/${namespace}/pods/${name}`;
  const until = (name: string, what: string, check: (pod: Pod) => boolean) =>
    waitUntil(`${name} ${what}`, async () => check(await cluster.api.get<Pod>(podPath(name))));
  const untilRunning = (name: string) => until(name, 'runs', ({ status }) => status?.containerStatuses?.[0]?.state?.running !== undefined);
  const create = (name: string, spec: Partial<PodSpec>) =>
    cluster.api.create(podPath(''), aManifest(name, { nodeName, ...spec }, { namespace }));
  const messages = async (name: string, reason: string) => {
    const out = await kubectl('get', 'events', '--field-selector', `involvedObject.name=${name},reason=${reason}`, '-o', 'json');
    return (JSON.parse(out) as { items: { message: string }[] }).items.map(({ message }) => message);
  };

  /** The metrics of desired and mounted secret volumes on this node. */
  const secretVolumes = async () => {
    const page = await cluster.api.text(`/api/v1/nodes/${nodeName}/proxy/metrics`);
    const count = (state: string) =>
      Number(new RegExp(`\nvolume_manager_total_volumes{plugin_name="kubernetes.io/secret",state="${state}"} (\\d+)\n`).exec(page)?.[1]);
    return [count('desired_state_of_world'), count('actual_state_of_world')];
  };

  before(async () => {
    cluster = await sharedCluster();
    hooks.after(() => cluster.close());
    namespace = await cluster.namespace(hooks);
    node = await TestNode.start(hooks, await cluster.member(hooks, nodeName));
    await node.startKubelet();
  });
  after(async () => {
    await cluster?.kubectl('-n', namespace, 'delete', 'pods', '--all', '--grace-period=1', '--wait=true').catch(() => {});
    await hooks.run();
  });

  test('are files and variables; a changed secret arrives without a restart', async () => {
    await kubectl('create', 'secret', 'generic', 's', '--from-literal=a=one', '--from-literal=password=geheim');
    await kubectl('create', 'configmap', 'settings', '--from-literal=LEVEL=debug', '--from-literal=COLOUR=blue');
    await create('reader', {
      containers: [
        aBusybox({
          env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 's', key: 'password' } } }],
          envFrom: [{ prefix: 'APP_', configMapRef: { name: 'settings' } }],
          volumeMounts: [
            { name: 's', mountPath: '/s' },
            { name: 'c', mountPath: '/c/colour', subPath: 'COLOUR' },
          ],
        }),
      ],
      volumes: [
        { name: 's', secret: { secretName: 's', defaultMode: 0o400 } },
        { name: 'c', configMap: { name: 'settings' } },
      ],
    });
    await untilRunning('reader');
    const inside = (script: string) => kubectl('exec', 'reader', '--', 'sh', '-c', script);
    const account = '/var/run/secrets/kubernetes.io/serviceaccount';
    assert.equal(await inside('echo $PASSWORD $APP_LEVEL; cat /s/a; echo; cat /c/colour'), 'geheim debug\none\nblue');
    assert.equal(await inside(`cat ${account}/namespace; echo; echo $KUBERNETES_SERVICE_HOST`), `${namespace}\n10.96.0.1\n`);
    const claims = Buffer.from((await inside(`cat ${account}/token`)).split('.')[1] ?? '', 'base64url').toString();
    assert.match(claims, new RegExp(`system:serviceaccount:${namespace}:default`));
    await kubectl('patch', 'secret', 's', '-p', '{"stringData":{"a":"two"}}');
    await waitUntil('the file has changed', async () => (await inside('cat /s/a')) === 'two');
  });

  test('a pod with a missing secret has an event that names it, and runs when it exists', async () => {
    await create('waiting', {
      containers: [aBusybox({ volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      volumes: [{ name: 'v', secret: { secretName: 'late' } }],
    });
    const message = 'MountVolume.SetUp failed for volume "v" : secret "late" not found';
    await waitUntil('the event is recorded', async () => (await messages('waiting', 'FailedMount')).includes(message));
    assert.deepEqual(await secretVolumes(), [2, 1]);
    await kubectl('create', 'secret', 'generic', 'late', '--from-literal=a=b');
    await untilRunning('waiting');
    assert.deepEqual(await secretVolumes(), [2, 2]);
  });

  test('a container with a missing key in its environment runs when the key exists', async () => {
    await kubectl('create', 'configmap', 'incomplete', '--from-literal=other=x');
    const valueFrom = { configMapKeyRef: { name: 'incomplete', key: 'wanted' } };
    await create('keyless', { containers: [aBusybox({ env: [{ name: 'V', valueFrom }] })] });
    await until('keyless', 'shows the missing key', ({ status }) => {
      const { reason, message } = status?.containerStatuses?.[0]?.state?.waiting ?? {};
      return reason === 'CreateContainerConfigError' && message === `couldn't find key wanted in ConfigMap ${namespace}/incomplete`;
    });
    await kubectl('patch', 'configmap', 'incomplete', '-p', '{"data":{"wanted":"here"}}');
    await untilRunning('keyless');
    assert.equal(await kubectl('exec', 'keyless', '--', 'sh', '-c', 'echo $V'), 'here\n');
  });

  test('a restarted kubelet rewrites no volume and requests no token', async () => {
    await create('steady', {});
    await untilRunning('steady');
    const account = '/var/run/secrets/kubernetes.io/serviceaccount';
    const files = () => kubectl('exec', 'steady', '--', 'sh', '-c', `readlink ${account}/..data; cat ${account}/token`);
    const before = await files();
    await node.stopKubelet();
    const stoppedAt = new Date().toISOString();
    await node.startKubelet();
    await kubectl('create', 'secret', 'generic', 'after-restart', '--from-literal=a=b');
    await create('after-restart', {
      automountServiceAccountToken: false,
      containers: [aBusybox({ volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      volumes: [{ name: 'v', secret: { secretName: 'after-restart' } }],
    });
    await untilRunning('after-restart');
    assert.equal(await files(), before);
    const requests = cluster.controlPlane.auditEvents(nodeName).filter((event) => event.requestReceivedTimestamp > stoppedAt);
    assert.ok(requests.length > 0);
    assert.deepEqual(
      requests.filter(({ objectRef }) => objectRef?.subresource === 'token').map(({ requestURI }) => requestURI),
      [],
    );
  });

  test('a missing pull secret is reported when a pull fails, and does not block the use of a present image', async () => {
    await create('secretless', { imagePullSecrets: [{ name: 'nowhere' }] });
    await untilRunning('secretless');
    await create('unpulled', { imagePullSecrets: [{ name: 'nowhere' }], containers: [aBusybox({ image: '127.0.0.1:1/none:1' })] });
    const message = 'Unable to retrieve some image pull secrets (nowhere); attempting to pull the image may not succeed.';
    await waitUntil('the event is recorded', async () => (await messages('unpulled', 'FailedToRetrieveImagePullSecret')).includes(message));
    assert.deepEqual(await messages('secretless', 'FailedToRetrieveImagePullSecret'), []);
  });
});
