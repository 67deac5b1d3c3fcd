/** A real VerticalPodAutoscaler changes the resources of running pods in place. Run by npm run test:vpa. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { ContainerStatus, Pod } from '../../src/shared/kubernetes/api.ts';
import { milliValue, value } from '../../src/shared/kubernetes/quantity.ts';
import { Cleanups } from '../support/cleanups.ts';
import { TestClusterNode } from '../support/cluster/cluster-node.ts';
import { privateCluster } from '../support/cluster/control-plane.ts';
import { aggregationFlags, startMetricsServer } from '../support/cluster/metrics-server.ts';
import { startVerticalPodAutoscaler } from '../support/cluster/vertical-pod-autoscaler.ts';
import { aBusybox } from '../support/kubelet/test-node.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const mebibyte = 1024 * 1024;
const labels = { app: 'scaled' };
/** The limits are five and four times the requests: the autoscaler keeps the proportions. */
const original = { requests: { cpu: '20m', memory: '24Mi' }, limits: { cpu: '100m', memory: '96Mi' } };
const larger = { cpu: '60m', memory: '48Mi' };
const smaller = { cpu: '30m', memory: '36Mi' };
/** Quota, period and memory limit, as the container sees them, with cgroup v2 or v1. */
const kernelValues =
  'cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.cfs_period_us /sys/fs/cgroup/memory/memory.limit_in_bytes';
/** Metrics of a new pod take half a minute. */
const scalingMs = 180_000;

const appOf = ({ status }: Pod): ContainerStatus | undefined => status?.containerStatuses?.find(({ name }) => name === 'app');
const isResizing = ({ status }: Pod) => status?.conditions?.some(({ type }) => type.startsWith('PodResize')) ?? false;
/** Of a container: CPU in thousandths, memory in bytes. */
const numbersOf = (resources: ContainerStatus['resources']) =>
  [resources?.requests, resources?.limits].flatMap((list) => [milliValue(list?.['cpu'] ?? '0'), value(list?.['memory'] ?? '0')]);
const numbersFor = ({ cpu, memory }: typeof larger) => {
  const [milli, bytes] = [milliValue(cpu), value(memory)];
  return [milli, bytes, 5 * milli, 4 * bytes];
};
/** What shows that a pod has not started again. */
const identityOf = (pod: Pod) => {
  const { containerID, restartCount, state } = appOf(pod)!;
  return { uid: pod.metadata.uid, containerID, restartCount, startedAt: state?.running?.startedAt };
};

describe('VerticalPodAutoscaler', () => {
  const hooks = new Cleanups();
  let node: TestClusterNode;
  /** By pod's name. */
  let identities: ReadonlyMap<string, ReturnType<typeof identityOf>>;

  const pods = async (): Promise<readonly Pod[]> => {
    const { items } = await node.api.get<{ items: readonly Pod[] }>(`${node.podsPath}?labelSelector=app%3D${labels.app}`);
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  };
  const untilPodsHave = (resources: readonly number[]) =>
    waitUntil(
      `both pods have ${resources.join()}`,
      async () => {
        const found = await pods();
        const have = (pod: Pod) => isDeepStrictEqual(numbersOf(appOf(pod)?.resources), resources) && appOf(pod)?.ready && !isResizing(pod);
        return found.length === 2 && found.every(have) ? found : undefined;
      },
      scalingMs,
    );
  const vpaPath = () => `/apis/autoscaling.k8s.io/v1/namespaces/${node.namespace}/verticalpodautoscalers`;
  /** The smallest and the largest recommendation are the same, so that no history of usage is needed. */
  const resourcePolicy = (recommendation: typeof larger) => ({
    containerPolicies: [{ containerName: 'app', minAllowed: recommendation, maxAllowed: recommendation }],
  });
  const reasonsOf = async ({ metadata }: Pod) => new Set((await node.events(metadata.name)).map(({ reason }) => reason));
  const valuesIn = async ({ metadata }: Pod) => (await node.exec(metadata.name, kernelValues)).trim().split(/\s+/).map(Number);

  before(async () => {
    const cluster = await privateCluster(hooks, { apiServerFlags: aggregationFlags(hooks) });
    node = await TestClusterNode.start('vpa-node', { cluster });
    hooks.after(() => node.destroy());
    await startMetricsServer(hooks, cluster);
    await startVerticalPodAutoscaler(hooks, cluster);
    await node.api.create(`/apis/apps/v1/namespaces/${node.namespace}/deployments`, {
      metadata: { name: 'scaled' },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [aBusybox({ resources: original })], terminationGracePeriodSeconds: 0 },
        },
      },
    });
    const running = await untilPodsHave(numbersFor(original.requests));
    identities = new Map(running.map((pod) => [pod.metadata.name, identityOf(pod)]));
  });
  after(async () => {
    await hooks.run();
  });

  const assertInPlace = (found: readonly Pod[]) => {
    assert.deepEqual(new Map(found.map((pod) => [pod.metadata.name, identityOf(pod)])), identities);
    for (const { restartCount } of identities.values()) assert.equal(restartCount, 0);
  };

  test('enlarges running pods in place', async (t) => {
    await node.api.create(vpaPath(), {
      apiVersion: 'autoscaling.k8s.io/v1',
      kind: 'VerticalPodAutoscaler',
      metadata: { name: 'scaled' },
      spec: {
        targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'scaled' },
        updatePolicy: { updateMode: 'InPlaceOrRecreate' },
        resourcePolicy: resourcePolicy(larger),
      },
    });
    const resized = await untilPodsHave(numbersFor(larger));
    assertInPlace(resized);
    for (const pod of resized) {
      assert.deepEqual(await valuesIn(pod), [30_000, 100_000, 192 * mebibyte]);
      const reasons = await waitUntil('the events are written', async () => {
        const found = await reasonsOf(pod);
        return found.has('InPlaceResizedByVPA') && found.has('ResizeCompleted') ? found : undefined;
      });
      assert.ok(!reasons.has('EvictedByVPA') && !reasons.has('Killing'), [...reasons].join());
      t.diagnostic(
        `${pod.metadata.name}: ${JSON.stringify(original)} → ${JSON.stringify(appOf(pod)!.resources)}, ${JSON.stringify(identityOf(pod))}`,
      );
    }
  });

  test('shrinks them in place when its bounds shrink', async () => {
    await node.api.patch(`${vpaPath()}/scaled`, { spec: { resourcePolicy: resourcePolicy(smaller) } });
    const resized = await untilPodsHave(numbersFor(smaller));
    assertInPlace(resized);
    for (const pod of resized) assert.deepEqual(await valuesIn(pod), [15_000, 100_000, 144 * mebibyte]);
  });

  test('starts a new pod with its recommendation', async () => {
    const [first] = await pods();
    await node.delete(first!.metadata.name);
    const found = await untilPodsHave(numbersFor(smaller));
    const created = found.find(({ metadata }) => !identities.has(metadata.name));
    // The admission controller has set them: a resize would be the second generation.
    assert.equal(created?.metadata.generation, 1);
    assert.deepEqual(numbersOf(created.spec.containers[0]!.resources), numbersFor(smaller));
  });
});
