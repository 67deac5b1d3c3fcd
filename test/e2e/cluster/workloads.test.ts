/** Pods of a whole cluster, with scheduler and controllers: statuses, conditions and events. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import type { Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode, conditionOf } from '../../support/cluster/cluster-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

const nodeName = 'cluster-workloads';
const onThisNode = { 'kubernetes.io/hostname': nodeName };

describe('workloads in a cluster', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start(nodeName);
  });
  after(() => node?.destroy());

  const conditions = ({ status }: Pod) =>
    Object.fromEntries((status?.conditions ?? []).map(({ type, status: value, reason }) => [type, reason ? `${value} ${reason}` : value]));
  const template = (app: string, spec: Partial<PodSpec> = {}) => ({
    metadata: { labels: { app } },
    spec: { nodeSelector: onThisNode, terminationGracePeriodSeconds: 1, containers: [aBusybox()], ...spec },
  });

  describe('of all kinds', { concurrency: 4 }, () => {
    test('a deployment runs three replicas, rolls out, and scales down', async () => {
      await node.api.create(`/apis/apps/v1/namespaces/${node.namespace}/deployments`, {
        metadata: { name: 'web' },
        spec: { replicas: 3, selector: { matchLabels: { app: 'web' } }, template: template('web') },
      });
      await node.cluster.runKubectl(['-n', node.namespace, 'rollout', 'status', 'deployment/web', '--timeout=80s'], { timeoutMs: 85_000 });
      assert.match(await node.kubectl('get', 'deployment', 'web'), /web\s+3\/3\s+3\s+3/);
      const pods = (await node.kubectl('get', 'pods', '-l', 'app=web', '-o', 'wide', '--no-headers')).trimEnd().split('\n');
      assert.equal(pods.length, 3);
      for (const line of pods) assert.match(line, /web-\S+\s+1\/1\s+Running\s+0\s+\S+\s+10\.\d+\.\d+\.\d+\s+cluster-workloads/);
      await node.kubectl('set', 'env', 'deployment/web', 'VERSION=2');
      const rollout = await node.cluster.runKubectl(['-n', node.namespace, 'rollout', 'status', 'deployment/web', '--timeout=80s'], {
        timeoutMs: 85_000,
      });
      assert.match(rollout.stdout, /successfully rolled out/);
      await node.kubectl('scale', 'deployment/web', '--replicas=0');
      await waitUntil(
        'the pods of the deployment are gone',
        async () => (await node.api.get<{ items: Pod[] }>(`${node.podsPath}?labelSelector=app%3Dweb`)).items.length === 0,
        60_000,
      );
    });

    test('a job completes after one of its pods failed', async () => {
      const createJob = (name: string, sh: string, spec: object = {}) =>
        node.api.create(`/apis/batch/v1/namespaces/${node.namespace}/jobs`, {
          metadata: { name },
          spec: { template: template(name, { restartPolicy: 'Never', containers: [aBusybox({ sh })] }), ...spec },
        });
      await createJob('computes', 'echo 42', { completions: 2, parallelism: 2 });
      await createJob('fails', 'exit 3', { backoffLimit: 0 });
      await node.kubectl('wait', '--for=condition=Complete', 'job/computes', '--timeout=28s');
      await node.kubectl('wait', '--for=condition=Failed', 'job/fails', '--timeout=28s');
      assert.equal(await node.kubectl('logs', 'job/computes'), '42\n');
      const { items } = await node.api.get<{ items: Pod[] }>(`${node.podsPath}?labelSelector=app%3Dcomputes`);
      assert.deepEqual(
        items.map(({ status }) => status?.phase),
        ['Succeeded', 'Succeeded'],
      );
      assert.equal(conditions(items[0]!).Ready, 'False PodCompleted');
    });

    test('a daemon set runs its pod with its tolerations', async () => {
      await node.api.create(`/apis/apps/v1/namespaces/${node.namespace}/daemonsets`, {
        metadata: { name: 'agent' },
        spec: { selector: { matchLabels: { app: 'agent' } }, template: template('agent') },
      });
      await node.cluster.runKubectl(['-n', node.namespace, 'rollout', 'status', 'daemonset/agent', '--timeout=60s'], { timeoutMs: 65_000 });
      assert.match(await node.kubectl('get', 'daemonset', 'agent', '--no-headers'), /agent\s+1\s+1\s+1\s+1\s+1/);
      await node.kubectl('delete', 'daemonset', 'agent');
    });

    test('init containers and sidecars are reported in order', async () => {
      await node.create('ordered', {
        restartPolicy: 'Never',
        initContainers: [
          aBusybox({ name: 'first', sh: 'sleep 1; exit 0' }),
          { ...aBusybox({ name: 'sidecar' }), restartPolicy: 'Always' },
          aBusybox({ name: 'second', sh: 'exit 0' }),
        ],
        containers: [aBusybox({ sh: 'sleep 1; exit 0' })],
      });
      const initializing = await node.until(
        'ordered',
        'runs its first init container',
        ({ status }) => status?.initContainerStatuses?.[0]?.state?.running !== undefined,
      );
      assert.equal(conditions(initializing).Initialized, 'False ContainersNotInitialized');
      assert.equal(initializing.status?.phase, 'Pending');
      assert.equal(initializing.status?.containerStatuses?.[0]?.state?.waiting?.reason, 'PodInitializing');
      assert.match(await node.kubectl('get', 'pod', 'ordered', '--no-headers'), /ordered\s+0\/2\s+Init:0\/3|ordered\s+\d\/2/);
      const { status } = await node.untilEnded('ordered');
      assert.deepEqual(
        status?.initContainerStatuses?.map(({ name, state }) => [name, state?.terminated?.exitCode]),
        [
          ['first', 0],
          ['sidecar', 0],
          ['second', 0],
        ],
      );
      assert.equal(status?.phase, 'Succeeded');
    });

    test('a failed init container fails the pod under Never', async () => {
      await node.create('uninitialized', { restartPolicy: 'Never', initContainers: [aBusybox({ name: 'first', sh: 'exit 4' })] });
      const pod = await node.untilEnded('uninitialized');
      assert.equal(pod.status?.phase, 'Failed');
      assert.equal(pod.status?.containerStatuses?.[0]?.state?.waiting?.reason, 'PodInitializing');
      assert.match(await node.kubectl('get', 'pod', 'uninitialized', '--no-headers'), /Init:Error/);
    });

    test('a crashing container’s restarts and back-off are reported', async () => {
      await node.create('crashing', { containers: [aBusybox({ sh: 'echo dying > /dev/termination-log; exit 5' })] });
      const { status } = await node.until('crashing', 'shows CrashLoopBackOff', ({ status: { containerStatuses } = {} }) => {
        const [app] = containerStatuses ?? [];
        return app?.state?.waiting?.reason === 'CrashLoopBackOff' && app.restartCount >= 1;
      });
      const [app] = status?.containerStatuses ?? [];
      assert.deepEqual([app?.lastState?.terminated?.exitCode, app?.lastState?.terminated?.message], [5, 'dying\n']);
      const event = await node.untilEvent('crashing', 'BackOff', /^Back-off restarting failed container app in pod crashing_/);
      assert.deepEqual([event.type, event.source.component, event.source.host], ['Warning', 'kubelet', nodeName]);
      // A repeated event is counted, not recorded again.
      const pulled = (await node.events('crashing')).filter(({ reason }) => reason === 'Pulled');
      assert.ok(pulled.length === 1 && (pulled[0]?.count ?? 0) >= 2, JSON.stringify(pulled));
      assert.match(
        await node.kubectl('describe', 'pod', 'crashing'),
        /Warning\s+BackOff\s+.*kubelet\s+spec\.containers\{app\}: Back-off restarting failed/,
      );
    });

    test('OnFailure restarts failed containers only', async () => {
      await node.create('retries', {
        restartPolicy: 'OnFailure',
        containers: [
          aBusybox({ sh: 'test -f /data/x && exit 0; touch /data/x; exit 1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
        ],
        volumes: [{ name: 'data', emptyDir: {} }],
      });
      const { status } = await node.untilEnded('retries');
      assert.deepEqual([status?.phase, status?.containerStatuses?.[0]?.restartCount], ['Succeeded', 1]);
    });

    test('a pod is not ready before its readiness gates are true', async () => {
      await node.create('gated', { readinessGates: [{ conditionType: 'example.com/open' }] });
      const pod = await node.until('gated', 'has its containers ready', ({ status }) => conditionOf(status, 'ContainersReady') === 'True');
      assert.equal(conditions(pod).Ready, 'False ReadinessGatesNotReady');
      assert.equal(
        pod.status?.conditions?.find(({ type }) => type === 'Ready')?.message,
        'corresponding condition of pod readiness gate "example.com/open" does not exist.',
      );
      const open = { type: 'example.com/open', status: 'True' };
      await node.api.patch(`${node.podsPath}/gated/status`, { status: { conditions: [open] } }, 'strategic-merge');
      const ready = await node.until('gated', 'is ready', ({ status }) => conditionOf(status, 'Ready') === 'True');
      assert.equal(conditionOf(ready.status, 'example.com/open'), 'True');
    });

    test('a pod past its active deadline fails and terminates', async () => {
      await node.create('late', { activeDeadlineSeconds: 2, terminationGracePeriodSeconds: 1 });
      const { status } = await node.untilEnded('late');
      assert.deepEqual(
        [status?.phase, status?.reason, status?.message],
        ['Failed', 'DeadlineExceeded', 'Pod was active on the node longer than the specified deadline'],
      );
      await node.untilEvent('late', 'DeadlineExceeded', /Pod was active on the node longer than the specified deadline/);
      await node.until('late', 'has terminated', (pod) => pod.status?.containerStatuses?.[0]?.state?.terminated !== undefined);
    });

    test('an active deadline can be set on a running pod', async () => {
      await node.create('deadline-set', { terminationGracePeriodSeconds: 1 });
      await node.untilRunning('deadline-set');
      await node.api.patch(`${node.podsPath}/deadline-set`, { spec: { activeDeadlineSeconds: 1 } });
      const { status, metadata } = await node.untilEnded('deadline-set');
      assert.equal(status?.reason, 'DeadlineExceeded');
      assert.equal(status?.observedGeneration, metadata.generation);
    });

    test('observedGeneration follows the generation', async () => {
      await node.create('generations', { containers: [aBusybox()] });
      const first = await node.untilRunning('generations');
      assert.equal(first.status?.observedGeneration, first.metadata.generation);
      // The image is one of the mutable fields of a running pod; this one has the same content.
      await node.api.patch(
        `${node.podsPath}/generations`,
        {
          spec: {
            containers: [{ name: 'app', image: 'local.example/busybox:1', command: undefined }],
            tolerations: [...(first.spec.tolerations ?? []), { key: 'x', operator: 'Exists' }],
          },
        },
        'strategic-merge',
      );
      const second = await node.until(
        'generations',
        'has observed its new generation',
        ({ metadata, status }) => metadata.generation === 2 && status?.observedGeneration === 2,
      );
      assert.equal(second.status?.containerStatuses?.[0]?.containerID, first.status?.containerStatuses?.[0]?.containerID);
      for (const type of ['Ready', 'ContainersReady']) {
        assert.equal(second.status?.conditions?.find((condition) => condition.type === type)?.observedGeneration, 2, type);
      }
    });

    test('a failed pull is reported with upstream’s reasons and messages', async () => {
      await node.create('unpullable', { containers: [aBusybox({ image: 'local.example/none-such:1' })] });
      await node.until('unpullable', 'shows the failed pull', ({ status }) =>
        /^(ErrImagePull|ImagePullBackOff)$/.test(status?.containerStatuses?.[0]?.state?.waiting?.reason ?? ''),
      );
      await node.untilEvent('unpullable', 'Pulling', /^Pulling image "local.example\/none-such:1"$/);
      await node.untilEvent('unpullable', 'Failed', /^Failed to pull image "local.example\/none-such:1": /);
      await node.untilEvent('unpullable', 'Failed', /^Error: ErrImagePull$/);
      await node.delete('unpullable');
    });

    test('a start records upstream’s events', async () => {
      await node.create('described');
      await node.untilRunning('described');
      await node.untilEvent('described', 'Started', /^Container started$/);
      const events = await node.events('described');
      assert.deepEqual(
        events.map(({ type, reason, message }) => `${type} ${reason} ${message}`),
        [
          'Normal Pulled Container image "local.example/busybox:1" already present on machine and can be accessed by the pod',
          'Normal Created Container created',
          'Normal Started Container started',
        ],
      );
      assert.ok(events.every(({ involvedObject }) => involvedObject.fieldPath === 'spec.containers{app}'));
    });
  });

  test('a pod start costs at most two status writes and no GET; a restarted kubelet writes none', async () => {
    const isPodRequest = ({ objectRef }: { objectRef?: { resource: string; namespace?: string } }) =>
      objectRef?.resource === 'pods' && objectRef.namespace === node.namespace;
    const requestsOf = (name: string) => node.requests((event) => isPodRequest(event) && event.objectRef?.name === name);
    await node.create('counted');
    const counted = await node.untilRunning('counted');
    await waitUntil('the writes are in the audit log', () => requestsOf('counted').length >= 1);
    assert.ok(requestsOf('counted').length <= 2, requestsOf('counted').join());
    assert.ok(
      requestsOf('counted').every((request) => request === 'patch pods/status'),
      requestsOf('counted').join(),
    );
    await node.kubectl('delete', 'pods', '-l', 'app', '--wait=false');
    await waitUntil(
      'no pod is pending or being deleted',
      async () => {
        const { items } = await node.api.get<{ items: Pod[] }>(node.podsPath);
        return items.every(({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase !== 'Pending');
      },
      60_000,
    );
    // Its next restart would change the status.
    await node.delete('crashing');
    await node.untilGone('crashing');
    const versions = async () =>
      Object.fromEntries(
        (await node.api.get<{ items: Pod[] }>(node.podsPath)).items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]),
      );
    const before = await versions();
    await node.restartKubelet();
    await node.create('newcomer');
    await node.untilRunning('newcomer');
    // The status manager first compares with the API 10 s after the start.
    await sleep(11_000);
    const { newcomer: _, ...unchanged } = await versions();
    assert.deepEqual(unchanged, before);
    assert.equal((await node.get('counted')).metadata.uid, counted.metadata.uid);
    assert.ok(requestsOf('counted').length <= 2, requestsOf('counted').join());
  });

  test('no request of the kubelet was forbidden', () => {
    // The Node authorizer learns a node's pods by a watch: an object of a new pod may be refused once.
    const isPodObject = /\/(secrets|configmaps|serviceaccounts)\//;
    const refused = node.cluster.controlPlane
      .auditEvents(nodeName)
      .filter(({ responseStatus, requestURI }) => responseStatus?.code === 403 && !isPodObject.test(requestURI));
    assert.deepEqual(
      refused.map(({ verb, requestURI }) => `${verb} ${requestURI}`),
      [],
    );
  });
});
