/** Admission of pods that are bound to an unsuitable node: their status, what the node adds to them, and that running pods are not admitted again. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { pauseProgram } from '../../../lab/control-plane/control-plane-process.ts';
import type { PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode, conditionOf } from '../../support/cluster/cluster-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

const nodeName = 'cluster-admission';

const requesting = (resources: Readonly<Record<string, string>>): Partial<PodSpec> => ({
  containers: [aBusybox({ resources: { requests: resources } })],
});

const refused: { readonly name: string; readonly spec: Partial<PodSpec>; readonly reason: string; readonly message: RegExp }[] = [
  {
    name: 'selector',
    spec: { nodeSelector: { disk: 'none-such' } },
    reason: 'NodeAffinity',
    message: /^Pod was rejected: Predicate NodeAffinity failed: node\(s\) didn't match Pod's node affinity\/selector$/,
  },
  {
    name: 'affinity',
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: [nodeName] }] }],
          },
        },
      },
    },
    reason: 'NodeAffinity',
    message: /Predicate NodeAffinity failed/,
  },
  {
    name: 'cpu',
    spec: requesting({ cpu: '1000' }),
    reason: 'OutOfcpu',
    message: /^Pod was rejected: Node didn't have enough resource: cpu, requested: 1000000, used: \d+, capacity: \d+$/,
  },
  {
    name: 'memory',
    spec: requesting({ memory: '900Ti' }),
    reason: 'OutOfmemory',
    message: /Node didn't have enough resource: memory, requested: 989560464998400, used: \d+, capacity: \d+$/,
  },
  {
    name: 'sysctl',
    spec: { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1000' }] } },
    reason: 'SysctlForbidden',
    message: /forbidden sysctl: "kernel.msgmax" not allowlisted$/,
  },
  {
    name: 'strict-groups',
    spec: { securityContext: { supplementalGroupsPolicy: 'Strict' } },
    reason: 'SupplementalGroupsPolicyNotSupported',
    message: /^Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node$/,
  },
  {
    name: 'apparmor',
    spec: { securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: '../../etc/passwd' } } },
    reason: 'AppArmor',
    message: /^Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host$/,
  },
];

describe('a pod that is bound to an unsuitable node', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start(nodeName, {
      config: {
        featureGates: { DefaultPodSysctls: true },
        defaultPodSysctls: { 'kernel.shm_rmid_forced': '1', 'net.ipv4.ip_local_port_range': '31000 32000' },
      },
    });
  });
  after(() => node?.destroy());

  const untilRejected = async (name: string, reason: string, message: RegExp) => {
    const { status } = await node.untilEnded(name);
    assert.deepEqual([status?.phase, status?.reason], ['Failed', reason]);
    assert.match(status?.message ?? '', message);
    const event = await node.untilEvent(name, reason, /./);
    assert.equal(event.type, 'Warning');
    assert.equal(`Pod was rejected: ${event.message}`, status?.message);
  };

  describe('without a taint', { concurrency: 4 }, () => {
    for (const { name, spec, reason, message } of refused) {
      test(`is refused for ${reason} (${name})`, async () => {
        await node.create(name, spec);
        await untilRejected(name, reason, message);
      });
    }

    test('is refused for an exhausted device, and admitted with an unknown resource', async () => {
      const requesting = (count: string): Partial<PodSpec> => {
        const amount = { 'example.com/dongle': count };
        return { containers: [aBusybox({ resources: { requests: amount, limits: amount } })] };
      };
      await node.create('unknown-device', requesting('1'));
      await node.untilRunning('unknown-device');
      await node.api.patch(`${node.nodePath}/status`, { status: { capacity: { 'example.com/dongle': '3' } } }, 'strategic-merge');
      await waitUntil(
        'the new resource is allocatable',
        async () => {
          const { status } = await node.api.get<{ status: { allocatable: Record<string, string> } }>(node.nodePath);
          return status.allocatable['example.com/dongle'] === '3';
        },
        60_000,
      );
      await node.create('devices', requesting('3'));
      const message = /resource: example.com\/dongle, requested: 3, used: 1, capacity: 3$/;
      await untilRejected('devices', 'OutOfexample.com/dongle', message);
    });

    test('is refused for another operating system', async () => {
      await node.create('windows', { os: { name: 'windows' } });
      await untilRejected('windows', 'PodOSNotSupported', /^Pod was rejected: Failed to admit pod as the OS field doesn't match node OS$/);
      await node.create('labelled', {}, { labels: { 'kubernetes.io/os': 'windows' } });
      await untilRejected('labelled', 'PodOSSelectorNodeLabelDoesNotMatch', /`kubernetes.io\/os` label doesn't match node label$/);
    });

    test('waits with a reason for resource claims, and for a volume, that this kubelet cannot prepare', async () => {
      const resourceClaims = [{ name: 'gpu', resourceClaimName: 'no-such-claim' }];
      await node.create('claims', { resourceClaims, containers: [aBusybox({ resources: { claims: [{ name: 'gpu' }] } })] });
      await node.create('unmounted', {
        volumes: [{ name: 'remote', nfs: { server: 'nfs.example', path: '/' } }],
        containers: [aBusybox({ volumeMounts: [{ name: 'remote', mountPath: '/remote' }] })],
      });
      const cannotPrepare = /^Failed to prepare dynamic resources: this kubelet cannot prepare resource claims \(gpu\)$/;
      await node.untilEvent('claims', 'FailedPrepareDynamicResources', cannotPrepare);
      await node.untilEvent('unmounted', 'FailedMount', /can't use volume plugins for remote: this kubelet has none for nfs$/);
      for (const name of ['claims', 'unmounted']) {
        const { status } = await node.get(name);
        assert.deepEqual([status?.phase, status?.containerStatuses?.[0]?.state?.running], ['Pending', undefined]);
      }
    });

    test('has the node’s sysctls, and its own in their place', async () => {
      const sysctls = [{ name: 'net.ipv4.ip_local_port_range', value: '33000 34000' }];
      await node.create('own-sysctls', { securityContext: { sysctls } });
      await node.create('default-sysctls', {});
      const read = 'cat /proc/sys/kernel/shm_rmid_forced /proc/sys/net/ipv4/ip_local_port_range';
      for (const [name, range] of [
        ['own-sysctls', '33000\t34000'],
        ['default-sysctls', '31000\t32000'],
      ] as const) {
        await node.untilRunning(name);
        assert.equal(await node.exec(name, read), `1\n${range}\n`);
      }
    });

    test('is refused for a host port in use, until its user has terminated', async () => {
      const ports = [{ containerPort: 80, hostPort: 34_561 }];
      await node.create('has-port', { containers: [aBusybox({ ports })] });
      await node.untilRunning('has-port');
      await node.create('wants-port', { containers: [aBusybox({ ports })] });
      await untilRejected(
        'wants-port',
        'NodePorts',
        /Predicate NodePorts failed: node\(s\) didn't have free ports for the requested pod ports$/,
      );
      await node.delete('has-port');
      await node.untilGone('has-port');
      await node.create('gets-port', { containers: [aBusybox({ ports })] });
      await node.untilRunning('gets-port');
    });
  });

  test('is refused for a NoExecute taint that it does not tolerate', async () => {
    await node.kubectl('taint', 'node', nodeName, 'maintenance=now:NoExecute');
    try {
      await node.create('tolerant', { tolerations: [{ key: 'maintenance', operator: 'Exists' }] });
      await node.untilRunning('tolerant');
      // The taint controller deletes such a pod at once, mostly before the kubelet writes a status.
      const resume = pauseProgram(node.cluster.controlPlane.folder, 'kube-controller-manager');
      try {
        await node.create('intolerant');
        await node.untilEvent(
          'intolerant',
          'TaintToleration',
          /^Predicate TaintToleration failed: node\(s\) had taints that the pod didn't tolerate$/,
        );
        await node.until('intolerant', 'has failed', ({ status }) => status?.phase === 'Failed');
      } finally {
        resume();
      }
    } finally {
      await node.kubectl('taint', 'node', nodeName, 'maintenance-');
    }
  });

  test('is admitted when its label was set a moment ago', async () => {
    await node.kubectl('label', 'node', nodeName, 'fresh=label');
    await node.create('follows-label', { nodeSelector: { fresh: 'label' } });
    await node.untilRunning('follows-label');
  });

  test('stays admitted across label changes and a restart of the kubelet', async () => {
    await node.kubectl('label', 'node', nodeName, 'disk=ssd');
    await node.create('settled', { nodeSelector: { disk: 'ssd' } });
    const before = await node.untilRunning('settled');
    await node.kubectl('label', 'node', nodeName, 'disk-');
    await node.restartKubelet();
    // A new pod shows that the restarted kubelet has taken over its pods.
    await node.create('after-restart');
    await node.untilRunning('after-restart');
    const after = await node.get('settled');
    assert.equal(after.metadata.resourceVersion, before.metadata.resourceVersion);
    assert.equal(after.status?.phase, 'Running');
    await node.create('unsettled', { nodeSelector: { disk: 'ssd' } });
    await untilRejected('unsettled', 'NodeAffinity', /Predicate NodeAffinity failed/);
  });

  test('stays refused across a restart of the kubelet, and can be deleted', async () => {
    await node.create('stays-refused', { nodeSelector: { disk: 'none-such' } });
    const { metadata } = await node.untilEnded('stays-refused');
    await node.restartKubelet();
    await node.create('after-refusal');
    await node.untilRunning('after-refusal');
    assert.equal((await node.get('stays-refused')).metadata.resourceVersion, metadata.resourceVersion);
    await node.delete('stays-refused');
    await node.untilGone('stays-refused');
  });
});

describe('a node with room for three pods', () => {
  test('refuses the fourth pod, admits one after a termination, and preempts for a critical pod', async () => {
    const node = await TestClusterNode.start('cluster-full', { config: { maxPods: 3 } });
    try {
      for (const name of ['a', 'b', 'c']) await node.create(name);
      for (const name of ['a', 'b', 'c']) await node.untilRunning(name);
      await node.create('d');
      const { status } = await node.untilEnded('d');
      assert.deepEqual(
        [status?.reason, status?.message],
        ['OutOfpods', "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"],
      );
      await node.delete('a');
      await node.untilGone('a');
      await node.create('e');
      await node.untilRunning('e');
      assert.equal((await node.get('d')).status?.phase, 'Failed');

      // A critical pod preempts another one.
      await node.create('critical', { priorityClassName: 'system-node-critical' });
      await node.untilRunning('critical');
      const pods = await Promise.all(['b', 'c', 'e'].map((name) => node.get(name)));
      const [victim, ...others] = pods.filter(({ status: current }) => current?.phase === 'Failed');
      assert.deepEqual(
        [victim?.status?.reason, victim?.status?.message, others],
        ['Preempting', 'Preempted in order to admit critical pod', []],
      );
      assert.equal(conditionOf(victim?.status, 'DisruptionTarget'), 'True');
      await node.untilEvent(victim?.metadata.name ?? '', 'Preempting', /^Preempted in order to admit critical pod$/);
    } finally {
      await node.destroy();
    }
  });
});
