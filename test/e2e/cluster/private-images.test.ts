/** Private images: pull secrets, a registry with authentication, a real runtime. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { busyboxArchive, pauseImage } from '../../../lab/containerd/local-images.ts';
import type { Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { sharedCluster, type TestCluster } from '../../support/cluster/control-plane.ts';
import { PrivateRegistry } from '../../support/kubelet/private-registry.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../../support/kubelet/test-node.ts';

const nodeName = 'cluster-images';

describe('a private image', () => {
  const hooks = new Cleanups();
  let cluster: TestCluster;
  let namespace: string;
  let registry: PrivateRegistry;
  let node: TestNode;
  let config: Record<string, unknown>;

  const kubectl = (...args: string[]) => cluster.kubectl('-n', namespace, ...args);
  const secret = (name: string, password: string) => {
    const login = [`--docker-server=${registry.host}`, '--docker-username=me', `--docker-password=${password}`];
    return kubectl('create', 'secret', 'docker-registry', name, ...login);
  };
  const podPath = (name: string) => `/api/v1/namespaces/${namespace}/pods/${name}`;
  const create = (name: string, image: string, spec: Partial<PodSpec> = {}, pullPolicy = 'IfNotPresent') =>
    cluster.api.create(
      podPath(''),
      aManifest(
        name,
        { nodeName, containers: [aBusybox({ image: `${registry.host}/${image}`, imagePullPolicy: pullPolicy })], ...spec },
        { namespace },
      ),
    );
  const until = (name: string, what: string, check: (pod: Pod) => boolean) =>
    waitUntil(`${name} ${what}`, async () => check(await cluster.api.get<Pod>(podPath(name))));
  const untilRunning = (name: string) => until(name, 'runs', ({ status }) => status?.containerStatuses?.[0]?.state?.running !== undefined);
  const untilWaiting = (name: string, ...reasons: string[]) =>
    until(name, `waits for ${reasons.join(' or ')}`, ({ status }) =>
      reasons.includes(status?.containerStatuses?.[0]?.state?.waiting?.reason ?? ''),
    );
  const events = async (name: string) => {
    const out = await kubectl('get', 'events', '--field-selector', `involvedObject.name=${name}`, '-o', 'json');
    return (JSON.parse(out) as { items: { reason: string; message: string }[] }).items.map(
      ({ reason, message }) => `${reason}: ${message}`,
    );
  };

  before(async () => {
    cluster = await sharedCluster();
    hooks.after(() => cluster.close());
    namespace = await cluster.namespace(hooks);
    const member = await cluster.member(hooks, nodeName);
    config = { ...member.config };
    node = await TestNode.start(hooks, { ...member, config });
    registry = await PrivateRegistry.start(hooks, busyboxArchive, { me: 'geheim' });
    await node.startKubelet();
    await secret('right', 'geheim');
    await secret('wrong', 'geraten');
  });
  after(async () => {
    await cluster?.kubectl('-n', namespace, 'delete', 'pods', '--all', '--grace-period=1', '--wait=true').catch(() => {});
    await hooks.run();
  });

  test('is pulled with the matching pull secret, and the pull is reported while it runs', async () => {
    const image = `${registry.host}/team/app:1`;
    const reported = Promise.withResolvers<void>();
    registry.delayUntil(reported.promise);
    await create('puller', 'team/app:1', { imagePullSecrets: [{ name: 'wrong' }, { name: 'right' }] });
    await waitUntil('the pull is reported', async () => (await events('puller')).includes(`Pulling: Pulling image "${image}"`)).finally(
      reported.resolve,
    );
    await untilRunning('puller');
    const pulled = `Pulled: Successfully pulled image "${image}" in `;
    await waitUntil('the finished pull is reported', async () => (await events('puller')).some((event) => event.startsWith(pulled)));
    assert.deepEqual([...new Set(registry.pulls)], ['me team/app:1']);
  });

  test('is used without another pull by pods with the same secret, and refused to others', async () => {
    const pulls = registry.pulls.length;
    await create('friend', 'team/app:1', { imagePullSecrets: [{ name: 'right' }] });
    await untilRunning('friend');
    const message = 'already present on machine and can be accessed by the pod';
    await waitUntil('the use of the present image is reported', async () =>
      (await events('friend')).some((event) => event.endsWith(message)),
    );
    assert.equal(registry.pulls.length, pulls);
    await create('stranger', 'team/app:1');
    await create('never', 'team/app:1', {}, 'Never');
    await untilWaiting('stranger', 'ErrImagePull', 'ImagePullBackOff');
    await untilWaiting('never', 'ErrImageNeverPull');
    assert.equal(registry.pulls.length, pulls);
  });

  /** Restarts the kubelet with another verification policy. */
  const restartWithPolicy = async (imagePullCredentialsVerificationPolicy: string) => {
    await node.stopKubelet();
    Object.assign(config, { imagePullCredentialsVerificationPolicy });
    await node.startKubelet();
  };

  test('stays available to the same pods after a restart of the kubelet', async () => {
    const pulls = registry.pulls.length;
    await restartWithPolicy('NeverVerifyPreloadedImages');
    await create('friend-after-restart', 'team/app:1', { imagePullSecrets: [{ name: 'right' }] });
    await create('stranger-after-restart', 'team/app:1');
    await untilRunning('friend-after-restart');
    await untilWaiting('stranger-after-restart', 'ErrImagePull', 'ImagePullBackOff');
    assert.equal(registry.pulls.length, pulls);
  });

  test('follows imagePullCredentialsVerificationPolicy, as do preloaded images', async () => {
    // Uses the pause image: the registry serves the content of the busybox image, and credentials depend on the content.
    const createPreloaded = (name: string) =>
      cluster.api.create(podPath(''), aManifest(name, { nodeName, containers: [{ name: 'app', image: pauseImage }] }, { namespace }));
    const pulls = registry.pulls.length;
    await createPreloaded('preloaded');
    await untilRunning('preloaded');
    await restartWithPolicy('AlwaysVerify');
    await createPreloaded('verified');
    await create('verified-friend', 'team/app:1', { imagePullSecrets: [{ name: 'right' }] });
    await untilRunning('verified-friend');
    await untilWaiting('verified', 'ErrImagePull', 'ImagePullBackOff');
    await restartWithPolicy('NeverVerify');
    await create('unverified', 'team/app:1');
    await untilRunning('unverified');
    assert.equal(registry.pulls.length, pulls);
  });

  test('is pulled with the pull secret of the service account', async () => {
    // In one request: the API server copies the secrets of the account that its cache holds into a new pod.
    await cluster.api.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, {
      metadata: { name: 'puller' },
      imagePullSecrets: [{ name: 'right' }],
    });
    await create('by-account', 'team/other:1', { serviceAccountName: 'puller' });
    await untilRunning('by-account');
  });
});
