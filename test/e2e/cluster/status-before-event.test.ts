/** The API server has the status of a failing pod before the warning event about it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { assertStatusCameFirst, firstWarnings, revisionOf } from '../../support/cluster/first-warnings.ts';
import { PodWatch } from '../../support/cluster/pod-watch.ts';
import { aBusybox, aManifest } from '../../support/kubelet/test-node.ts';

const nodeName = 'cluster-status-before-event';

describe('a failing pod', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start(nodeName);
  });
  after(() => node?.destroy());

  const missing = { name: 'missing', secret: { secretName: 'none-such' } };
  const mount = { volumeMounts: [{ name: 'missing', mountPath: '/missing' }] };
  const waitsFor = (reason: RegExp) => (pod: Pod) => reason.test(pod.status?.containerStatuses?.[0]?.state?.waiting?.reason ?? '');
  const hasStatus = (pod: Pod) => pod.status?.startTime !== undefined;

  const cases: {
    title: string;
    count: number;
    spec: Parameters<typeof aManifest>[1];
    reason: string;
    isExpectedStatus: (pod: Pod) => boolean;
  }[] = [
    {
      title: 'a missing secret',
      count: 1,
      spec: { volumes: [missing], containers: [aBusybox(mount)] },
      reason: 'FailedMount',
      isExpectedStatus: hasStatus,
    },
    {
      title: 'a missing config map, in a burst',
      count: 20,
      spec: { volumes: [{ name: 'missing', configMap: { name: 'none-such' } }], containers: [aBusybox(mount)] },
      reason: 'FailedMount',
      isExpectedStatus: hasStatus,
    },
    {
      title: 'an image that cannot be pulled, and another container',
      count: 1,
      spec: { containers: [aBusybox({ image: 'local.example/none-such:1' }), aBusybox({ name: 'other' })] },
      reason: 'Failed',
      isExpectedStatus: waitsFor(/^ErrImagePull$/),
    },
    {
      title: 'a config that cannot be created',
      count: 1,
      spec: { containers: [aBusybox({ env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'none-such', key: 'x' } } }] })] },
      reason: 'Failed',
      isExpectedStatus: waitsFor(/^CreateContainerConfigError$/),
    },
    {
      title: 'a command that does not exist',
      count: 1,
      spec: { containers: [{ ...aBusybox(), command: ['/none-such'] }] },
      reason: 'Failed',
      isExpectedStatus: waitsFor(/^(RunContainerError|CrashLoopBackOff)$/),
    },
    {
      title: 'a container that crashes',
      count: 1,
      spec: { containers: [aBusybox({ sh: 'exit 1' })] },
      reason: 'BackOff',
      isExpectedStatus: waitsFor(/^CrashLoopBackOff$/),
    },
  ];

  for (const { title, count, spec, reason, isExpectedStatus } of cases) {
    test(`has its status before its warning event: ${title}`, async (t) => {
      const pods = await PodWatch.start(t, node.cluster, node.namespace);
      const names = Array.from({ length: count }, (_, index) => `${title.replaceAll(/[^a-z]+/g, '-')}-${index}`);
      const since = await revisionOf(node.cluster, node.namespace);
      await Promise.all(names.map((name) => pods.create(aManifest(name, { nodeName, terminationGracePeriodSeconds: 1, ...spec }))));
      const warnings = await firstWarnings(node.cluster, node.namespace, since, names);
      for (const [name, event] of warnings) {
        await pods.until(name, 'has had the expected status', () => pods.seen(name).some(isExpectedStatus));
        assert.equal(event.reason, reason);
        assertStatusCameFirst(pods, event, isExpectedStatus);
      }
      await Promise.all(names.map((name) => pods.delete(name, { gracePeriodSeconds: 0 })));
    });
  }
});
