/** Change detection of secrets and config maps, with each configMapAndSecretChangeDetectionStrategy. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stopProgram } from '../../../lab/control-plane/control-plane-process.ts';
import { isWatch, type Matches } from '../../support/api-server/api-server-faults.ts';
import { privateCluster, sharedCluster } from '../../support/cluster/control-plane.ts';
import { startFaultyNode } from '../../support/cluster/faulty-node.ts';
import { isRunning } from '../../support/cluster/pod-watch.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

const isValue: Matches = (_, path) => /^\/api\/v1\/namespaces\/[^/]+\/(secrets|configmaps)[/?]/.test(path);
const isWatchOfValue: Matches = (method, path) => isWatch(method, path) && isValue(method, path);

describe('change detection', { concurrency: 2 }, () => {
  describe('a changed secret or config map reaches a running pod', () => {
    for (const strategy of ['Watch', 'Cache', 'Get'] as const) {
      test(`with the strategy ${strategy}, and no watch remains for a deleted pod`, async (t) => {
        const cluster = await sharedCluster();
        t.after(() => cluster.close());
        const node = await startFaultyNode(t, cluster, `detects-by-${strategy.toLowerCase()}`, {
          // Without a watch the next sync of the pod reads the object.
          config: { configMapAndSecretChangeDetectionStrategy: strategy, syncFrequency: '2s' },
        });
        const { pods, proxy, namespace } = node;
        const kubectl = (...args: string[]) => cluster.kubectl('-n', namespace, ...args);
        await kubectl('create', 'secret', 'generic', 'login', '--from-literal=value=one');
        await kubectl('create', 'configmap', 'settings', '--from-literal=value=one');
        await node.create('reader', {
          automountServiceAccountToken: false,
          containers: [
            aBusybox({
              volumeMounts: [
                { name: 'login', mountPath: '/login' },
                { name: 'settings', mountPath: '/settings' },
              ],
            }),
          ],
          volumes: [
            { name: 'login', secret: { secretName: 'login' } },
            { name: 'settings', configMap: { name: 'settings' } },
          ],
        });
        const before = await pods.until('reader', 'runs', isRunning);
        const read = () => kubectl('exec', 'reader', '--', 'cat', '/login/value', '/settings/value');
        assert.equal(await read(), 'oneone');
        const openWatches = () => proxy.underWay(isWatchOfValue);
        if (strategy === 'Watch') await waitUntil('both objects are watched', () => openWatches().length === 2, 60_000);

        await kubectl('patch', 'secret', 'login', '-p', '{"stringData":{"value":"two"}}');
        await kubectl('patch', 'configmap', 'settings', '-p', '{"data":{"value":"two"}}');
        await waitUntil('the files have changed', async () => (await read()) === 'twotwo', 60_000);
        const { status } = pods.get('reader') ?? {};
        assert.equal(status?.containerStatuses?.[0]?.containerID, before.status?.containerStatuses?.[0]?.containerID);

        await pods.delete('reader');
        await pods.untilGone('reader');
        // A config map's watch continues for a minute: the next pod of the namespace may need it.
        await waitUntil('the secret is no longer watched', () => !openWatches().some((path) => path.includes('/secrets')), 60_000);
        const wasWatched = proxy.requests.some(({ method, path }) => isWatchOfValue(method, path));
        assert.equal(wasWatched, strategy === 'Watch');
      });
    }
  });

  test('the strategy Cache caches for the Node’s TTL, and reads the current object for a new pod', async (t) => {
    const cluster = await privateCluster(t, { scheduler: false });
    const node = await startFaultyNode(t, cluster, 'cache-for-a-while', {
      config: { configMapAndSecretChangeDetectionStrategy: 'Cache', syncFrequency: '2s' },
    });
    const { nodeName, namespace, pods, proxy } = node;
    // The controller manager would set the annotation to 0: the cluster is small.
    await stopProgram(cluster.controlPlane.folder, 'kube-controller-manager', 5000);
    const kubectl = (...args: string[]) => cluster.kubectl('-n', namespace, ...args);
    const setNodeTTL = (seconds: number) => kubectl('annotate', '--overwrite', 'node', nodeName, `node.alpha.kubernetes.io/ttl=${seconds}`);
    const writeSecret = (value: string) => kubectl('patch', 'secret', 'login', '-p', JSON.stringify({ stringData: { value } }));
    const createReader = (name: string) =>
      node.create(name, {
        automountServiceAccountToken: false,
        containers: [aBusybox({ volumeMounts: [{ name: 'login', mountPath: '/login' }] })],
        volumes: [{ name: 'login', secret: { secretName: 'login' } }],
      });
    const read = (name: string) => kubectl('exec', name, '--', 'cat', '/login/value');
    /** Returns for each GET of a secret since the last call whether the API server may answer it from its cache. */
    const takeSecretReads = () =>
      proxy.requests
        .splice(0)
        .filter(({ path }) => path.includes('/secrets/'))
        .map(({ path }) => path.includes('resourceVersion=0'));
    const ttlSeconds = 20;
    await setNodeTTL(ttlSeconds);
    await kubectl('create', 'secret', 'generic', 'login', '--from-literal=value=one');
    const createdAtMs = Date.now();
    await createReader('reader');
    await pods.until('reader', 'runs', isRunning);
    const readAtMs = Date.now();
    assert.deepEqual([await read('reader'), new Set(takeSecretReads())], ['one', new Set([false])]);
    await writeSecret('two');
    await waitUntil('the file has changed', async () => (await read('reader')) === 'two', 50_000);
    assert.ok(Date.now() - createdAtMs >= ttlSeconds * 1000, `read again after ${Date.now() - createdAtMs} ms`);
    // Without the Node's annotation the TTL would be a minute.
    assert.ok(Date.now() - readAtMs < 50_000, `read again after ${Date.now() - readAtMs} ms`);
    assert.deepEqual(takeSecretReads(), [true]);

    await setNodeTTL(3600);
    await writeSecret('three');
    await createReader('newcomer');
    await pods.until('newcomer', 'runs', isRunning);
    assert.equal(await read('newcomer'), 'three');
    assert.equal(takeSecretReads().at(-1), false);
    await waitUntil('the file of the first pod has changed', async () => (await read('reader')) === 'three', 30_000);
  });
});
