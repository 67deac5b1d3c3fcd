import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManifest, decodedPod, errorsOf, type Json } from '../../../../../support/pods/manifests.ts';
import { table } from '../../../../../support/table.ts';

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const labelKey =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const meta = (metadata: Json) => aManifest({ metadata });
const spec = (fields: Json) => aManifest({ spec: fields });
const pod = (securityContext: Json, more: Json = {}) => aManifest({ spec: { securityContext, ...more } });

const metadata: readonly [manifest: Json, ...errors: string[]][] = [
  [meta({ name: 'Web' }), `metadata.name: Invalid value: "Web-node-1": ${subdomain}`],
  [meta({ name: 'w'.repeat(250) }), `metadata.name: Invalid value: "${'w'.repeat(250)}-node-"…: must be no more than 253 characters`],
  [meta({ generateName: 'Web-' }), `metadata.generateName: Invalid value: "Wea": ${subdomain}`],
  [meta({ namespace: 'a.b' }), 'metadata.namespace: Invalid value: "a.b": must not contain dots'],
  [meta({ uid: '../../etc' }), `metadata.uid: Invalid value: "../../etc": must consist of alphanumeric characters, '-', '_' or '.'`],
  [meta({ generation: -1 }), 'metadata.generation: Invalid value: -1: must be greater than or equal to 0'],
  [meta({ labels: { '-a': 'b' } }), `metadata.labels: Invalid value: "-a": ${labelKey}`],
  [meta({ labels: { a: 'x'.repeat(64) } }), `metadata.labels: Invalid value: "${'x'.repeat(64)}": must be no more than 63 bytes`],
  [
    meta({ annotations: { 'a/b/c': '' } }),
    `metadata.annotations: Invalid value: "a/b/c": a valid label key ${labelKey.slice(10)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
  ],
  [meta({ annotations: { a: 'x'.repeat(256 * 1024) } }), 'metadata.annotations: Too long: may not be more than 262144 bytes'],
  [
    meta({ ownerReferences: [{ apiVersion: 'v1', kind: '', name: 'x', uid: 'y' }] }),
    'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
  ],
  [
    meta({ finalizers: ['mine'] }),
    'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
  ],
  [
    meta({ annotations: { 'controller.kubernetes.io/pod-deletion-cost': '+1' } }),
    'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer',
  ],
  [
    meta({ annotations: { 'seccomp.security.alpha.kubernetes.io/pod': 'none' } }),
    'metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "none": must be a valid seccomp profile',
  ],
  [
    meta({ annotations: { 'container.apparmor.security.beta.kubernetes.io/other': 'unconfined' } }),
    'metadata.annotations[container.apparmor.security.beta.kubernetes.io/other]: Invalid value: "other": container not found',
  ],
];

const words: readonly [manifest: Json, ...errors: string[]][] = [
  [spec({ containers: [] }), 'spec.containers: Required value'],
  [
    spec({ restartPolicy: 'Sometimes' }),
    'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"',
  ],
  [
    spec({ dnsPolicy: 'Any' }),
    'spec.dnsPolicy: Unsupported value: "Any": supported values: "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"',
  ],
  [
    spec({ preemptionPolicy: 'Maybe' }),
    'spec.preemptionPolicy: Unsupported value: "Maybe": supported values: "Never", "PreemptLowerPriority"',
  ],
  [spec({ activeDeadlineSeconds: 0 }), 'spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
  [spec({ hostname: 'a.b' }), 'spec.hostname: Invalid value: "a.b": must not contain dots'],
  [spec({ subdomain: 'A' }), `spec.subdomain: Invalid value: "A": ${label}`],
  [spec({ priorityClassName: '_' }), `spec.priorityClassName: Invalid value: "_": ${subdomain}`],
  [spec({ runtimeClassName: '' }), `spec.runtimeClassName: Invalid value: "": ${subdomain}`],
  [
    spec({ readinessGates: [{ conditionType: '' }] }),
    'spec.readinessGates[0].conditionType: Invalid value: "": name part must be non-empty',
    `spec.readinessGates[0].conditionType: Invalid value: "": ${labelKey}`,
  ],
  [
    spec({ schedulingGates: [{ name: 'g' }, { name: 'g' }] }),
    'spec.schedulingGates[1]: Duplicate value: "g"',
    'spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared',
  ],
  [spec({ overhead: { cpu: '-1' } }), 'spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
  [spec({ os: { name: 'plan9' } }), 'spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'],
  [spec({ os: { name: 'windows' }, hostPID: true }), 'spec.hostPID: Forbidden: cannot be set for a windows pod'],
  [spec({ hostnameOverride: 'x', hostNetwork: true }), 'spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true'],
  [
    spec({ resourceClaims: [{ name: 'r' }] }),
    'spec.resourceClaims[0]: Invalid value: {"name":"r"}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
  ],
  [spec({ schedulingGroup: {} }), 'spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`'],
  [spec({ ephemeralContainers: [{ name: 'e', image: 'x' }] }), 'spec.ephemeralContainers: Forbidden: cannot be set on create'],
];

const network: readonly [manifest: Json, ...errors: string[]][] = [
  [spec({ dnsPolicy: 'None' }), 'spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None'],
  [
    spec({ dnsPolicy: 'None', dnsConfig: {} }),
    'spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None',
  ],
  [
    spec({ dnsConfig: { nameservers: ['1.2.3'] } }),
    'spec.dnsConfig.nameservers[0]: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ],
  [
    spec({ dnsConfig: { nameservers: ['010.0.0.1'] } }),
    'spec.dnsConfig.nameservers[0]: Invalid value: "010.0.0.1": must not have leading 0s',
  ],
  [
    spec({ dnsConfig: { nameservers: ['::ffff:1.2.3.4'] } }),
    'spec.dnsConfig.nameservers[0]: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address',
  ],
  [
    spec({ dnsConfig: { nameservers: Array(4).fill('1.1.1.1') } }),
    'spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.1","1.1.1.1","1.1.1.1"]: must not have more than 3 nameservers',
  ],
  [spec({ dnsConfig: { options: [{ value: '1' }] } }), 'spec.dnsConfig.options[0]: Required value: must not be empty'],
  [
    spec({ hostAliases: [{ ip: 'x', hostnames: ['a_b'] }] }),
    'spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    `spec.hostAliases[0].hostnames[0]: Invalid value: "a_b": ${subdomain}`,
  ],
  [
    aManifest({ spec: { hostNetwork: true, containers: [{ name: 'a', image: 'x', ports: [{ containerPort: 80, hostPort: 81 }] }] } }),
    'spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true',
  ],
];

const security: readonly [manifest: Json, ...errors: string[]][] = [
  [pod({ fsGroup: -1 }), 'spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive'],
  [
    pod({ supplementalGroups: [1, 2 ** 31] }),
    'spec.securityContext.supplementalGroups[1]: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive',
  ],
  [
    pod({ supplementalGroupsPolicy: 'Some' }),
    'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "Some": supported values: "Merge", "Strict"',
  ],
  [
    pod({ fsGroupChangePolicy: 'Never' }),
    'spec.securityContext.fsGroupChangePolicy: Unsupported value: "Never": supported values: "Always", "OnRootMismatch"',
  ],
  [
    pod({ seccompProfile: { type: 'Localhost' } }),
    'spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost',
  ],
  [
    pod({ seccompProfile: { type: 'Localhost', localhostProfile: '../x' } }),
    `spec.securityContext.seccompProfile.localhostProfile: Invalid value: "../x": must not contain '..'`,
  ],
  [
    pod({ appArmorProfile: { type: 'Unconfined', localhostProfile: 'x' } }),
    'spec.securityContext.appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost',
  ],
  [pod({ sysctls: [{ name: 'a' }, { name: 'a' }] }), 'spec.securityContext.sysctls[1].name: Duplicate value: "a"'],
  [
    pod({ sysctls: [{ name: 'net.core.somaxconn', value: '1' }] }, { hostNetwork: true }),
    `spec.securityContext.sysctls[0].name: Invalid value: "net.core.somaxconn": may not be specified when 'hostNetwork' is true`,
  ],
  [
    pod({ sysctls: [{ name: 'kernel/shmmax', value: '1' }] }, { hostIPC: true }),
    `spec.securityContext.sysctls[0].name: Invalid value: "kernel/shmmax": may not be specified when 'hostIPC' is true`,
  ],
  [
    spec({ hostPID: true, shareProcessNamespace: true }),
    'spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled',
  ],
  [spec({ hostUsers: false, hostPID: true }), 'spec.HostPID: Forbidden: when `hostUsers` is false'],
  [
    pod({ windowsOptions: { runAsUserName: '' } }),
    'spec.securityContext.windowsOptions.runAsUserName: Invalid value: "": runAsUserName cannot be an empty string',
  ],
  [
    aManifest({
      metadata: { annotations: { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' } },
      spec: { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } },
    }),
    'spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match',
  ],
];

const term = (fields: Json) =>
  spec({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', ...fields }] } } });
const node = (terms: Json[]) =>
  spec({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } } });
const spread = (fields: Json) =>
  spec({ topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', ...fields }] });
const nodeTerms = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';

const scheduling: readonly [manifest: Json, ...errors: string[]][] = [
  [
    spec({ tolerations: [{ operator: 'Equal' }] }),
    'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
  ],
  [
    spec({ tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] }),
    `spec.tolerations[0].operator: Invalid value: "b": value must be empty when \`operator\` is 'Exists'`,
  ],
  [
    spec({ tolerations: [{ key: 'a', operator: 'Gt', value: '1' }] }),
    'spec.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Gt", "Lt"',
  ],
  [
    spec({ tolerations: [{ key: 'a', tolerationSeconds: 5, effect: 'NoSchedule' }] }),
    'spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be \'NoExecute\' when `tolerationSeconds` is set',
  ],
  [
    spec({ tolerations: [{ key: 'a', effect: 'Never' }] }),
    'spec.tolerations[0].effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule", "PreferNoSchedule"',
  ],
  [
    spec({ nodeSelector: { a: '-' } }),
    `spec.nodeSelector: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
  ],
  [node([]), `${nodeTerms}: Required value: must have at least one node selector term`],
  [
    node([{ matchExpressions: [{ key: 'a', operator: 'In' }] }]),
    `${nodeTerms}[0].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
  ],
  [
    node([{ matchExpressions: [{ key: 'a', operator: 'Gt' }] }]),
    `${nodeTerms}[0].matchExpressions[0].values: Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'`,
  ],
  [
    node([{ matchFields: [{ key: 'status.phase', operator: 'In', values: ['x'] }] }]),
    `${nodeTerms}[0].matchFields[0].key: Invalid value: "status.phase": not a valid field selector key`,
  ],
  [
    term({ labelSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } }),
    'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
  ],
  [
    term({ matchLabelKeys: ['a'] }),
    'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set',
  ],
  [spread({ maxSkew: 0 }), 'spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero'],
  [spread({ topologyKey: '' }), 'spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty'],
  [
    spread({ whenUnsatisfiable: 'Cry' }),
    'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Cry": supported values: "DoNotSchedule", "ScheduleAnyway"',
  ],
  [
    spread({ whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2 }),
    'spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
  ],
];

table('an invalid pod is rejected with its errors', (row) => {
  for (const [manifest, ...errors] of [...metadata, ...words, ...network, ...security, ...scheduling]) {
    row(`a pod is rejected:  ${errors[0]?.slice(0, 140)}`, () => assert.deepEqual(errorsOf(manifest), errors));
  }
});

test('a pod with many fields of the API is valid', () => {
  const manifest = aManifest({
    metadata: { namespace: 'kube-system', labels: { 'example.com/app': 'Web_1' }, annotations: { 'Example.com/Note': 'any text' } },
    spec: {
      hostAliases: [{ ip: 'fe80::1', hostnames: ['db.local'] }],
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.0.0.1'], searches: ['.', '_tcp.example.com.'], options: [{ name: 'ndots', value: '2' }] },
      securityContext: {
        runAsUser: 0,
        fsGroup: 5,
        seccompProfile: { type: 'RuntimeDefault' },
        sysctls: [{ name: 'net/ipv4/ip_forward', value: '1' }],
      },
      tolerations: [{ key: 'node', operator: 'Equal', value: 'x', effect: 'NoSchedule' }],
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: { a: 'b' } } },
      ],
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, preference: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } },
          ],
        },
      },
      os: { name: 'linux' },
      overhead: { cpu: '10m' },
      priority: 2_000_000_000,
      priorityClassName: 'system-node-critical',
    },
  });
  assert.equal(decodedPod(manifest).spec.priority, 2_000_000_000);
});
