import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { apparmorAdmission, predicateAdmission, type AdmissionNode } from '../../../../../src/main/pods/admission/index.ts';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../../../support/pods.ts';
import { table } from '../../../../support/table.ts';

const api = { 'kubernetes.io/config.source': 'api' };
type Fields = Parameters<typeof aPod>[0];

/** Not a static one: those are critical. */
function anApiPod(spec: NonNullable<Fields>['spec'] = {}, metadata: NonNullable<Fields>['metadata'] = {}): Pod {
  return aPod({ metadata: { annotations: api, ...metadata }, spec });
}

function asking(requests: Record<string, string>, name = 'web', more: NonNullable<Fields>['spec'] = {}): Pod {
  return anApiPod({ containers: [aContainer({ resources: { requests } })], ...more }, { name, uid: `uid-${name}` });
}

const labels = { 'kubernetes.io/os': 'linux', disk: 'ssd', cores: '4' };
const allocatable = { cpu: '2', memory: '1Gi', pods: '3', 'ephemeral-storage': '10Gi', 'example.com/gpu': '1' };
const aNode: AdmissionNode = { metadata: { name: 'node-1', labels }, status: { allocatable } };

function told(pod: Pod, active: readonly Pod[] = [], node: AdmissionNode | null = aNode): string {
  const verdict = predicateAdmission({ node: () => node, tolerationComparisons: true })(pod, active);
  if (!verdict) return 'admitted';
  return 'rejection' in verdict
    ? `${verdict.rejection.reason}: ${verdict.rejection.message}`
    : `preempts ${verdict.preemption.victims.map(({ metadata }) => metadata.name).join()}`;
}

suite('a pod that asks for', () => {
  const used = asking({ cpu: '1500m', memory: '512Mi', 'example.com/gpu': '1' }, 'other');
  const cases: readonly [string, Record<string, string>, string][] = [
    ['what is left is admitted', { cpu: '500m', memory: '512Mi' }, 'admitted'],
    ['nothing is admitted', {}, 'admitted'],
    [
      'too much CPU is refused',
      { cpu: '501m' },
      "OutOfcpu: Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000",
    ],
    [
      'too much memory is refused',
      { memory: '513Mi' },
      "OutOfmemory: Node didn't have enough resource: memory, requested: 537919488, used: 536870912, capacity: 1073741824",
    ],
    [
      'too much storage is refused',
      { 'ephemeral-storage': '11Gi' },
      "OutOfephemeral-storage: Node didn't have enough resource: ephemeral-storage, requested: 11811160064, used: 0, capacity: 10737418240",
    ],
    ['a resource that is named like what an object inherits is admitted', { 'example.com/constructor': '1' }, 'admitted'],
    [
      'a standard resource that is named so is refused',
      { constructor: '1' },
      "OutOfconstructor: Node didn't have enough resource: constructor, requested: 1, used: 0, capacity: 0",
    ],
    [
      'more memory than can be counted is refused',
      { memory: '10e39' },
      "OutOfmemory: Node didn't have enough resource: memory, requested: 9223372036854775000, used: 536870912, capacity: 1073741824",
    ],
    [
      'a device that is taken is refused',
      { 'example.com/gpu': '1' },
      "OutOfexample.com/gpu: Node didn't have enough resource: example.com/gpu, requested: 1, used: 1, capacity: 1",
    ],
    ['a resource of the cluster is admitted', { 'example.com/licence': '1' }, 'admitted'],
    [
      'huge pages that there are none of is refused',
      { 'hugepages-2Mi': '2Mi' },
      "OutOfhugepages-2Mi: Node didn't have enough resource: hugepages-2Mi, requested: 2097152, used: 0, capacity: 0",
    ],
  ];
  table('a resource that a pod asks for', (row) => {
    for (const [name, requests, want] of cases) row(name, () => assert.equal(told(asking(requests), [used]), want));
  });

  test('a place where all are taken is refused', () => {
    const others = ['a', 'b', 'c'].map((name) => asking({}, name));
    assert.equal(told(asking({}), others), "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3");
  });
});

suite('a pod is for this node', () => {
  const required = (matchExpressions: object[], matchFields: object[] = []) =>
    ({
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions, matchFields }] } },
      },
    }) as unknown as NonNullable<Fields>['spec'];
  const misfit = "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
  const cases: readonly [string, NonNullable<Fields>['spec'], boolean][] = [
    ['by its selector', { nodeSelector: { disk: 'ssd' } }, true],
    ['not by a label of another value', { nodeSelector: { disk: 'hdd' } }, false],
    ['not by a label that is missing', { nodeSelector: { zone: 'a' } }, false],
    ['by a value that is one of', required([{ key: 'disk', operator: 'In', values: ['hdd', 'ssd'] }]), true],
    ['by a value that is none of', required([{ key: 'disk', operator: 'NotIn', values: ['hdd'] }]), true],
    ['by a label that it does not have', required([{ key: 'zone', operator: 'NotIn', values: ['a'] }]), true],
    ['by a label that exists', required([{ key: 'disk', operator: 'Exists' }]), true],
    ['not by a label that must not', required([{ key: 'disk', operator: 'DoesNotExist' }]), false],
    ['by a number that is greater', required([{ key: 'cores', operator: 'Gt', values: ['3'] }]), true],
    ['not by a number that is not less', required([{ key: 'cores', operator: 'Lt', values: ['4'] }]), false],
    ['not by a word in place of a number', required([{ key: 'disk', operator: 'Gt', values: ['1'] }]), false],
    ['by its name', required([], [{ key: 'metadata.name', operator: 'In', values: ['node-1'] }]), true],
    ['not by another name', required([], [{ key: 'metadata.name', operator: 'In', values: ['node-2'] }]), false],
    ['not by all but its name', required([], [{ key: 'metadata.name', operator: 'NotIn', values: ['node-1'] }]), false],
    ['not by a term that asks for nothing', required([]), false],
    ['not by an operator that nobody knows', required([{ key: 'disk', operator: 'Like', values: ['s'] }]), false],
    [
      'not where one of two requirements fails',
      required([
        { key: 'disk', operator: 'Exists' },
        { key: 'zone', operator: 'Exists' },
      ]),
      false,
    ],
  ];
  table('by its labels and its name', (row) => {
    for (const [name, spec, isFor] of cases) row(name, () => assert.equal(told(anApiPod(spec)), isFor ? 'admitted' : misfit));
  });

  test('not when it is bound to another', () => {
    assert.equal(
      told(anApiPod({ nodeName: 'node-2' })),
      "NodeName: Predicate NodeName failed: node(s) didn't match the requested node name",
    );
  });
});

suite('a port of the host', () => {
  const withPort = (hostPort: number, hostIP?: string, protocol = 'TCP') =>
    anApiPod({ containers: [aContainer({ ports: [{ containerPort: 80, hostPort, protocol, ...(hostIP ? { hostIP } : {}) }] })] });
  const taken = "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
  const cases: readonly [string, Pod, Pod, string][] = [
    ['that another has is refused', withPort(80), withPort(80), taken],
    ['of another protocol is free', withPort(80), withPort(80, '', 'UDP'), 'admitted'],
    ['on another address is free', withPort(80, '10.0.0.1'), withPort(80, '10.0.0.2'), 'admitted'],
    ['on every address takes each', withPort(80, '10.0.0.1'), withPort(80, '0.0.0.0'), taken],
    ['on one address is not free for all', withPort(80), withPort(80, '10.0.0.2'), taken],
  ];
  table('that another pod has, or not', (row) => {
    for (const [name, pod, other, want] of cases) row(name, () => assert.equal(told(pod, [other]), want));
  });
});

suite('a taint', () => {
  const tainted = (effect: string, value = '') => ({ ...aNode, spec: { taints: [{ key: 'gone', effect, value }] } });
  const refused = "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";
  const bearing = (toleration: object) => anApiPod({ tolerations: [toleration] });
  const cases: readonly [string, Pod, AdmissionNode, string][] = [
    ['that ends pods refuses one that does not bear it', anApiPod(), tainted('NoExecute'), refused],
    ['that only keeps new pods away is the scheduler’s', anApiPod(), tainted('NoSchedule'), 'admitted'],
    ['does not refuse a static pod', aPod(), tainted('NoExecute'), 'admitted'],
    ['is borne by its key', bearing({ key: 'gone', operator: 'Exists' }), tainted('NoExecute', 'x'), 'admitted'],
    ['is borne by its value', bearing({ key: 'gone', value: 'x' }), tainted('NoExecute', 'x'), 'admitted'],
    ['is not borne by another value', bearing({ key: 'gone', value: 'y' }), tainted('NoExecute', 'x'), refused],
    ['is not borne for another effect', bearing({ key: 'gone', operator: 'Exists', effect: 'NoSchedule' }), tainted('NoExecute'), refused],
    ['is borne by who bears all', bearing({ operator: 'Exists' }), tainted('NoExecute'), 'admitted'],
    ['is borne up to a number', bearing({ key: 'gone', operator: 'Lt', value: '5' }), tainted('NoExecute', '4'), 'admitted'],
    ['is not borne beyond it', bearing({ key: 'gone', operator: 'Lt', value: '5' }), tainted('NoExecute', '5'), refused],
  ];
  table('and what a pod bears', (row) => {
    for (const [name, pod, node, want] of cases) row(name, () => assert.equal(told(pod, [], node), want));
  });
});

suite('a pod that can never run here', () => {
  const cases: readonly [string, Pod, string][] = [
    [
      'is one for another system, by its field',
      anApiPod({ os: { name: 'windows' } }),
      "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
    ],
    [
      'is one for another system, by its label',
      anApiPod({}, { labels: { 'kubernetes.io/os': 'windows' } }),
      "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    ],
    [
      'asks for strict groups of a runtime without',
      anApiPod({ securityContext: { supplementalGroupsPolicy: 'Strict' } }),
      'SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node',
    ],
  ];
  for (const [name, pod, want] of cases) test(name, () => assert.equal(told(pod), want));

  test('is any while nothing is known of the node', () => {
    assert.equal(told(anApiPod(), [], null), 'InvalidNodeInfo: Kubelet cannot get node info.');
  });

  test('asks for a profile where there is no AppArmor', () => {
    const confined = (type: string) => anApiPod({ securityContext: { appArmorProfile: { type } } });
    const admit = apparmorAdmission(false);
    assert.deepEqual(admit(confined('RuntimeDefault'), []), {
      rejection: { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' },
    });
    assert.equal(admit(confined('Unconfined'), []), null);
    assert.equal(apparmorAdmission(true)(confined('RuntimeDefault'), []), null);
  });
});

suite('a critical pod without room', () => {
  const critical = (cpu: string, more: NonNullable<Fields>['spec'] = {}) =>
    asking({ cpu }, 'critical', { priority: 2_000_000_000, ...more });
  const small = asking({ cpu: '200m' }, 'small');
  const big = asking({ cpu: '1700m' }, 'big');
  const guaranteed = anApiPod(
    { containers: [aContainer({ resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } } })] },
    { name: 'guaranteed', uid: 'uid-guaranteed' },
  );

  test('takes that of the pod which brings what is missing, and of no more', () =>
    assert.equal(told(critical('200m'), [small, big]), 'preempts small'));
  test('takes that of several where it must', () => assert.equal(told(critical('1900m'), [small, big]), 'preempts big,small'));
  test('takes a guaranteed pod’s last', () =>
    assert.equal(told(critical('1'), [guaranteed, asking({ cpu: '1' }, 'burstable')]), 'preempts burstable'));
  test('is refused where all are critical', () => {
    assert.match(
      told(critical('1'), [asking({ cpu: '2' }, 'other', { priority: 2_000_000_000 })]),
      /^UnexpectedAdmissionError: .*no set of running pods found/,
    );
  });
  test('is refused for what room would not help', () => {
    assert.match(told(critical('9', { nodeSelector: { disk: 'hdd' } }), [big]), /^NodeAffinity: /);
  });
});

test('labels are perhaps outdated where they alone speak against a pod, a critical one too', () => {
  const mayBeStaleNode = (pod: Pod) => {
    const verdict = predicateAdmission({ node: () => aNode, tolerationComparisons: true })(pod, []);
    return Boolean(verdict && 'rejection' in verdict && verdict.rejection.mayBeStaleNode);
  };
  const elsewhere = { nodeSelector: { disk: 'hdd' } };
  const critical = { priority: 2_000_000_000 };
  const pods = [
    asking({ cpu: '1' }, 'web', elsewhere),
    asking({ cpu: '1' }, 'critical', { ...elsewhere, ...critical }),
    asking({ cpu: '9' }, 'big', elsewhere),
    asking({ cpu: '9' }, 'big-critical', { ...elsewhere, ...critical }),
    asking({ cpu: '1' }, 'other-node', { ...elsewhere, nodeName: 'node-2' }),
  ];
  assert.deepEqual(pods.filter(mayBeStaleNode), pods.slice(0, 2));
});
