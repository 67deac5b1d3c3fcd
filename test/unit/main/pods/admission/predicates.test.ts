import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AllocatedPod } from '../../../../../src/main/allocation/index.ts';
import { predicateAdmission, type AdmissionNode } from '../../../../../src/main/pods/admission/index.ts';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const api = { 'kubernetes.io/config.source': 'api' };
type Fields = Parameters<typeof aPod>[0];

/** An API pod: static pods are critical. */
function anApiPod(spec: NonNullable<Fields>['spec'] = {}, metadata: NonNullable<Fields>['metadata'] = {}): AllocatedPod {
  return aPod({ metadata: { annotations: api, ...metadata }, spec });
}

function requesting(requests: Record<string, string>, name = 'web', more: NonNullable<Fields>['spec'] = {}): AllocatedPod {
  return anApiPod({ containers: [aContainer({ resources: { requests } })], ...more }, { name, uid: `uid-${name}` });
}

const labels = { 'kubernetes.io/os': 'linux', disk: 'ssd', cores: '4' };
const allocatable = { cpu: '2', memory: '1Gi', pods: '3', 'ephemeral-storage': '10Gi', 'example.com/gpu': '1' };
const aNode: AdmissionNode = { metadata: { name: 'node-1', labels }, status: { allocatable } };

function admission(
  pod: Pod,
  active: readonly AllocatedPod[] = [],
  node: AdmissionNode | null = aNode,
  stopping: readonly Pod[] = [],
): string {
  const result = predicateAdmission({ node: () => node, tolerationComparisons: true })(pod, active, stopping);
  if (!result) return 'admitted';
  return 'rejection' in result
    ? `${result.rejection.reason}: ${result.rejection.message}`
    : `preempts ${result.preemption.victims.map(({ metadata }) => metadata.name).join()}`;
}

suite('a pod that requests', () => {
  const used = requesting({ cpu: '1500m', memory: '512Mi', 'example.com/gpu': '1' }, 'other');
  const cases: readonly [string, Record<string, string>, string][] = [
    ['the free resources is admitted', { cpu: '500m', memory: '512Mi' }, 'admitted'],
    ['nothing is admitted', {}, 'admitted'],
    [
      'too much CPU is rejected',
      { cpu: '501m' },
      "OutOfcpu: Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000",
    ],
    [
      'too much memory is rejected',
      { memory: '513Mi' },
      "OutOfmemory: Node didn't have enough resource: memory, requested: 537919488, used: 536870912, capacity: 1073741824",
    ],
    [
      'too much storage is rejected',
      { 'ephemeral-storage': '11Gi' },
      "OutOfephemeral-storage: Node didn't have enough resource: ephemeral-storage, requested: 11811160064, used: 0, capacity: 10737418240",
    ],
    ['an extended resource with the name of an inherited property is admitted', { 'example.com/constructor': '1' }, 'admitted'],
    [
      'a standard resource with the name of an inherited property is rejected',
      { constructor: '1' },
      "OutOfconstructor: Node didn't have enough resource: constructor, requested: 1, used: 0, capacity: 0",
    ],
    [
      'more memory than an int64 is rejected',
      { memory: '10e39' },
      "OutOfmemory: Node didn't have enough resource: memory, requested: 9223372036854775000, used: 536870912, capacity: 1073741824",
    ],
    [
      'a device in use is rejected',
      { 'example.com/gpu': '1' },
      "OutOfexample.com/gpu: Node didn't have enough resource: example.com/gpu, requested: 1, used: 1, capacity: 1",
    ],
    ['an extended resource that the node does not have is admitted', { 'example.com/licence': '1' }, 'admitted'],
    [
      'absent huge pages are rejected',
      { 'hugepages-2Mi': '2Mi' },
      "OutOfhugepages-2Mi: Node didn't have enough resource: hugepages-2Mi, requested: 2097152, used: 0, capacity: 0",
    ],
  ];
  table('the requests of a pod', (row) => {
    for (const [name, requests, want] of cases) row(name, () => assert.equal(admission(requesting(requests), [used]), want));
  });

  test('a pod beyond the node’s pod limit is rejected', () => {
    const others = ['a', 'b', 'c'].map((name) => requesting({}, name));
    assert.equal(
      admission(requesting({}), others),
      "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
    );
  });
});

suite('a pod matches this node', () => {
  const required = (matchExpressions: object[], matchFields: object[] = []) =>
    ({
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions, matchFields }] } },
      },
    }) as unknown as NonNullable<Fields>['spec'];
  const misfit = "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
  const cases: readonly [string, NonNullable<Fields>['spec'], boolean][] = [
    ['by its selector', { nodeSelector: { disk: 'ssd' } }, true],
    ['not by a label with another value', { nodeSelector: { disk: 'hdd' } }, false],
    ['not by a missing label', { nodeSelector: { zone: 'a' } }, false],
    ['by a value with In', required([{ key: 'disk', operator: 'In', values: ['hdd', 'ssd'] }]), true],
    ['by a value with NotIn', required([{ key: 'disk', operator: 'NotIn', values: ['hdd'] }]), true],
    ['by a missing label with NotIn', required([{ key: 'zone', operator: 'NotIn', values: ['a'] }]), true],
    ['by an existing label with Exists', required([{ key: 'disk', operator: 'Exists' }]), true],
    ['not by an existing label with DoesNotExist', required([{ key: 'disk', operator: 'DoesNotExist' }]), false],
    ['by a number with Gt', required([{ key: 'cores', operator: 'Gt', values: ['3'] }]), true],
    ['not by an equal number with Lt', required([{ key: 'cores', operator: 'Lt', values: ['4'] }]), false],
    ['not by a value that is not a number', required([{ key: 'disk', operator: 'Gt', values: ['1'] }]), false],
    ['by its name', required([], [{ key: 'metadata.name', operator: 'In', values: ['node-1'] }]), true],
    ['not by another name', required([], [{ key: 'metadata.name', operator: 'In', values: ['node-2'] }]), false],
    ['not by its name with NotIn', required([], [{ key: 'metadata.name', operator: 'NotIn', values: ['node-1'] }]), false],
    ['not by an empty term', required([]), false],
    ['not by an unknown operator', required([{ key: 'disk', operator: 'Like', values: ['s'] }]), false],
    [
      'not when one of two requirements fails',
      required([
        { key: 'disk', operator: 'Exists' },
        { key: 'zone', operator: 'Exists' },
      ]),
      false,
    ],
  ];
  table('by its labels and its name', (row) => {
    for (const [name, spec, isFor] of cases) row(name, () => assert.equal(admission(anApiPod(spec)), isFor ? 'admitted' : misfit));
  });

  test('not when it is bound to another node', () => {
    assert.equal(
      admission(anApiPod({ nodeName: 'node-2' })),
      "NodeName: Predicate NodeName failed: node(s) didn't match the requested node name",
    );
  });
});

suite('a host port', () => {
  const withPort = (hostPort: number, hostIP?: string, protocol = 'TCP') =>
    anApiPod({ containers: [aContainer({ ports: [{ containerPort: 80, hostPort, protocol, ...(hostIP ? { hostIP } : {}) }] })] });
  const taken = "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
  const cases: readonly [string, Pod, AllocatedPod, string][] = [
    ['that another pod uses is rejected', withPort(80), withPort(80), taken],
    ['of another protocol is free', withPort(80), withPort(80, '', 'UDP'), 'admitted'],
    ['on another address is free', withPort(80, '10.0.0.1'), withPort(80, '10.0.0.2'), 'admitted'],
    ['on one address conflicts with all addresses', withPort(80, '10.0.0.1'), withPort(80, '0.0.0.0'), taken],
    ['on all addresses conflicts with one address', withPort(80), withPort(80, '10.0.0.2'), taken],
  ];
  table('in use or free', (row) => {
    for (const [name, pod, other, want] of cases) row(name, () => assert.equal(admission(pod, [other]), want));
  });

  test('of a pod whose sandbox is being stopped is in use, and its resources are free', () => {
    const requests = { cpu: '100' };
    const stopping = anApiPod({ containers: [aContainer({ ports: [{ containerPort: 80, hostPort: 80 }], resources: { requests } })] });
    assert.equal(admission(withPort(80), [], aNode, [stopping]), taken);
    assert.equal(admission(withPort(81), [], aNode, [stopping]), 'admitted');
  });
});

suite('a taint', () => {
  const tainted = (effect: string, value = '') => ({ ...aNode, spec: { taints: [{ key: 'gone', effect, value }] } });
  const rejected = "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";
  const tolerating = (toleration: object) => anApiPod({ tolerations: [toleration] });
  const cases: readonly [string, Pod, AdmissionNode, string][] = [
    ['with effect NoExecute rejects a pod that does not tolerate it', anApiPod(), tainted('NoExecute'), rejected],
    ['with effect NoSchedule is ignored', anApiPod(), tainted('NoSchedule'), 'admitted'],
    ['does not reject a static pod', aPod(), tainted('NoExecute'), 'admitted'],
    ['is tolerated by key', tolerating({ key: 'gone', operator: 'Exists' }), tainted('NoExecute', 'x'), 'admitted'],
    ['is tolerated by value', tolerating({ key: 'gone', value: 'x' }), tainted('NoExecute', 'x'), 'admitted'],
    ['is not tolerated by another value', tolerating({ key: 'gone', value: 'y' }), tainted('NoExecute', 'x'), rejected],
    [
      'is not tolerated for another effect',
      tolerating({ key: 'gone', operator: 'Exists', effect: 'NoSchedule' }),
      tainted('NoExecute'),
      rejected,
    ],
    ['is tolerated by a toleration without a key', tolerating({ operator: 'Exists' }), tainted('NoExecute'), 'admitted'],
    ['is tolerated below a number with Lt', tolerating({ key: 'gone', operator: 'Lt', value: '5' }), tainted('NoExecute', '4'), 'admitted'],
    ['is not tolerated at that number', tolerating({ key: 'gone', operator: 'Lt', value: '5' }), tainted('NoExecute', '5'), rejected],
  ];
  table('and a pod’s tolerations', (row) => {
    for (const [name, pod, node, want] of cases) row(name, () => assert.equal(admission(pod, [], node), want));
  });
});

suite('a pod that this node never supports', () => {
  const cases: readonly [string, Pod, string][] = [
    [
      'has another operating system in its spec',
      anApiPod({ os: { name: 'windows' } }),
      "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
    ],
    [
      'has another operating system in its label',
      anApiPod({}, { labels: { 'kubernetes.io/os': 'windows' } }),
      "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    ],
  ];
  for (const [name, pod, want] of cases) test(name, () => assert.equal(admission(pod), want));

  test('is any pod while the node is unknown', () => {
    assert.equal(admission(anApiPod(), [], null), 'InvalidNodeInfo: Kubelet cannot get node info.');
  });
});

const withFeature = (supplementalGroupsPolicy: boolean): AdmissionNode => ({
  ...aNode,
  status: { allocatable, features: { supplementalGroupsPolicy } },
});
const notSupported = 'SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node';
const groupPolicies: readonly [policy: string, node: AdmissionNode, want: string][] = [
  ['Strict', aNode, notSupported],
  ['Strict', withFeature(false), notSupported],
  ['Strict', withFeature(true), 'admitted'],
  ['Merge', aNode, 'admitted'],
];
table('a pod with a policy for supplemental groups', (row) => {
  for (const [supplementalGroupsPolicy, node, want] of groupPolicies)
    row(`${supplementalGroupsPolicy}: ${want}`, () => {
      assert.equal(admission(anApiPod({ securityContext: { supplementalGroupsPolicy } }), [], node), want);
    });
});

suite('a critical pod with insufficient resources', () => {
  const critical = (cpu: string, more: NonNullable<Fields>['spec'] = {}) =>
    requesting({ cpu }, 'critical', { priority: 2_000_000_000, ...more });
  const small = requesting({ cpu: '200m' }, 'small');
  const big = requesting({ cpu: '1700m' }, 'big');
  const guaranteed = anApiPod(
    { containers: [aContainer({ resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } } })] },
    { name: 'guaranteed', uid: 'uid-guaranteed' },
  );

  test('preempts only the pod that frees enough', () => assert.equal(admission(critical('200m'), [small, big]), 'preempts small'));
  test('preempts several pods when required', () => assert.equal(admission(critical('1900m'), [small, big]), 'preempts big,small'));
  test('preempts guaranteed pods last', () =>
    assert.equal(admission(critical('1'), [guaranteed, requesting({ cpu: '1' }, 'burstable')]), 'preempts burstable'));
  test('preempts the lower priority of pods with the same requests', () => {
    const [low, high, none] = [{ priority: -5 }, { priority: 5 }, {}].map((more, index) => requesting({ cpu: '500m' }, `p${index}`, more));
    assert.equal(admission(critical('1'), [high!, low!, none!]), 'preempts p0');
    assert.equal(admission(critical('1500m'), [high!, none!, low!]), 'preempts p0,p2');
  });
  test('is rejected when all pods are critical', () => {
    assert.match(
      admission(critical('1'), [requesting({ cpu: '2' }, 'other', { priority: 2_000_000_000 })]),
      /^UnexpectedAdmissionError: .*no set of running pods found/,
    );
  });
  test('is rejected with what all pods together do not free', () => {
    const other = requesting({ cpu: '2' }, 'other', { priority: 2_000_000_000 });
    const large = critical('1', { containers: [aContainer({ resources: { requests: { cpu: '1', memory: '1Gi' } } })] });
    assert.match(admission(large, [other, requesting({ memory: '512Mi' }, 'small')]), /reclaim resources: \[\(res: cpu, q: 1000\), \]$/);
  });
  test('preempts a pod for what its overhead and its containers request, which upstream does not count', () => {
    const overhead = requesting({ memory: '1Mi' }, 'overhead', { overhead: { cpu: '2' } });
    assert.equal(admission(critical('2'), [overhead]), 'preempts overhead');
    const podLevel = requesting({ 'ephemeral-storage': '10Gi' }, 'pod-level', { resources: { requests: { cpu: '100m' } } });
    const storage = critical('1', { containers: [aContainer({ resources: { requests: { 'ephemeral-storage': '1Gi' } } })] });
    assert.equal(admission(storage, [podLevel]), 'preempts pod-level');
  });
  test('is rejected when preemption does not help', () => {
    assert.match(admission(critical('9', { nodeSelector: { disk: 'hdd' } }), [big]), /^NodeAffinity: /);
  });
});

test('the node may be stale only when labels are the only reason for the rejection', () => {
  const mayBeStaleNode = (pod: Pod) => {
    const result = predicateAdmission({ node: () => aNode, tolerationComparisons: true })(pod, []);
    return Boolean(result && 'rejection' in result && result.rejection.mayBeStaleNode);
  };
  const elsewhere = { nodeSelector: { disk: 'hdd' } };
  const critical = { priority: 2_000_000_000 };
  const pods = [
    requesting({ cpu: '1' }, 'web', elsewhere),
    requesting({ cpu: '1' }, 'critical', { ...elsewhere, ...critical }),
    requesting({ cpu: '9' }, 'big', elsewhere),
    requesting({ cpu: '9' }, 'big-critical', { ...elsewhere, ...critical }),
    requesting({ cpu: '1' }, 'other-node', { ...elsewhere, nodeName: 'node-2' }),
  ];
  assert.deepEqual(pods.filter(mayBeStaleNode), pods.slice(0, 2));
});
