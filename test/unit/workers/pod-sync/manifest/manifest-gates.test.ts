import { podSyncGatesWith } from '../../../../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import type { ManifestGates } from '../../../../../src/workers/pod-sync/manifest/manifest-gates.ts';
import { aManifest, decode, errorsOf } from '../../../../support/pods/manifests.ts';
import { table } from '../../../../support/table.ts';

const restartAll = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } };
const supportsRestart = 'Unsupported value: "RestartAllContainers": supported values: "Restart"';
const toleration = (operator: string, value: string) => aManifest({ spec: { tolerations: [{ key: 'k', operator, value }] } });
const init = (fields: object) => aManifest({ spec: { initContainers: [{ name: 'init', image: 'i', ...fields }] } });
const mountOption = aManifest({ spec: { securityContext: { seLinuxChangePolicy: 'MountOption' } } });
const operatorPath = 'spec.tolerations[0].operator';

const spread = (fields: object) =>
  aManifest({ spec: { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', ...fields }] } });
const spreadPath = 'spec.topologySpreadConstraints[0]';
/** The key occurs in the selector once: the manifest has it there, or an API server merged it. */
const keyInSelector = spread({ matchLabelKeys: ['rev'], labelSelector: { matchExpressions: [{ key: 'rev', operator: 'Exists' }] } });
const noMerge = { MatchLabelKeysInPodTopologySpreadSelectorMerge: false };
const noKeys = { ...noMerge, MatchLabelKeysInPodTopologySpread: false };
const inBoth = `${spreadPath}.matchLabelKeys[0]: Invalid value: "rev": exists in both matchLabelKeys and labelSelector`;

const cases: readonly [name: string, manifest: object, gates: Partial<ManifestGates>, want: string[]][] = [
  ['a container’s own restart policy', aManifest({ container: { restartPolicy: 'Never' } }), {}, []],
  [
    'a container’s own restart policy',
    aManifest({ container: { restartPolicy: 'Never' } }),
    { ContainerRestartRules: false },
    ['spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers'],
  ],
  [
    'an init container with its own restart policy',
    init({ restartPolicy: 'Never' }),
    { ContainerRestartRules: false },
    ['spec.initContainers[0].restartPolicy: Unsupported value: "Never": supported values: "Always"'],
  ],
  ['a sidecar', init({ restartPolicy: 'Always' }), { ContainerRestartRules: false }, []],
  [
    'a restart of all containers',
    aManifest({ container: { restartPolicy: 'Never', restartPolicyRules: [restartAll] } }),
    { RestartAllContainersOnContainerExits: false },
    [`spec.containers[0].restartPolicyRules[0].action: ${supportsRestart}`],
  ],
  ['a sidecar that restarts all', init({ restartPolicy: 'Always', restartPolicyRules: [restartAll] }), {}, []],
  [
    'a sidecar that restarts all',
    init({ restartPolicy: 'Always', restartPolicyRules: [restartAll] }),
    { RestartAllContainersOnContainerExits: false },
    [
      'spec.initContainers[0].restartPolicyRules: Forbidden: restartPolicyRules are not allowed for init containers with restart policy Always',
    ],
  ],
  [
    'a user namespace in the host network',
    aManifest({ spec: { hostUsers: false, hostNetwork: true } }),
    {},
    ['spec.hostNetwork: Forbidden: when `hostUsers` is false'],
  ],
  [
    'a user namespace in the host network',
    aManifest({ spec: { hostUsers: false, hostNetwork: true } }),
    { UserNamespacesHostNetworkSupport: true },
    [],
  ],
  [
    'a change of the SELinux context by a mount option',
    mountOption,
    { SELinuxMount: false },
    ['spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"'],
  ],
  ['a change of the SELinux context by a mount option', mountOption, {}, []],
  [
    'a comparing toleration',
    toleration('Gt', '5'),
    {},
    [`${operatorPath}: Unsupported value: "Gt": supported values: "Equal", "Exists", "Gt", "Lt"`],
  ],
  ['a comparing toleration', toleration('Gt', '-5'), { TaintTolerationComparisonOperators: true }, []],
  [
    'a comparing toleration without a number',
    toleration('Lt', '05'),
    { TaintTolerationComparisonOperators: true },
    ['spec.tolerations[0].value: Invalid value: "05": must be a valid decimal integer in canonical form'],
  ],
  [
    'a comparing toleration above an int64',
    toleration('Lt', '9223372036854775808'),
    { TaintTolerationComparisonOperators: true },
    [
      'spec.tolerations[0].value: Invalid value: "9223372036854775808": strconv.ParseInt: parsing "9223372036854775808": value out of range',
    ],
  ],
  [
    'a variable without a source',
    aManifest({ container: { env: [{ name: 'A', valueFrom: {} }] } }),
    { EnvFiles: false },
    [
      'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`',
    ],
  ],
  ['a spread by a key that occurs once in its selector', keyInSelector, {}, []],
  ['a spread by a key that occurs once in its selector', keyInSelector, noMerge, [inBoth]],
  ['a spread by a key that occurs once in its selector', keyInSelector, noKeys, [inBoth]],
  [
    'a spread by a key in its selector’s labels',
    spread({ matchLabelKeys: ['rev'], labelSelector: { matchLabels: { rev: '1' } } }),
    noMerge,
    [inBoth],
  ],
  ['a spread by a key', spread({ matchLabelKeys: ['rev'], labelSelector: { matchLabels: { app: 'web' } } }), noMerge, []],
  [
    'a spread by an invalid label key without a selector',
    spread({ matchLabelKeys: ['-'] }),
    noMerge,
    [
      `${spreadPath}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`,
      `${spreadPath}.matchLabelKeys[0]: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
  ],
  ['a spread without keys and selector', spread({}), noKeys, []],
  [
    'an invalid deletion cost',
    aManifest({ metadata: { annotations: { 'controller.kubernetes.io/pod-deletion-cost': 'much' } } }),
    { PodDeletionCost: false },
    [],
  ],
  ['a service account', aManifest({ spec: { serviceAccountName: 'me' } }), {}, ['static pods may not reference serviceaccounts']],
];
table('feature gates decide which fields a static pod may have', (row) => {
  for (const [name, manifest, gates, want] of cases) {
    const set = Object.entries(gates).map(([gate, value]) => `${gate}=${value}`);
    row(`${name} is ${want.length === 0 ? 'valid' : 'rejected'} with ${set.join(',') || 'the default gates'}`, () => {
      const errors = errorsOf(manifest, podSyncGatesWith(gates)).map((each) => each.replace(/^.*web\.yaml: invalid pod: /, ''));
      assert.deepEqual(errors, want);
    });
  }
});

const podLevelLimit = (container: object) =>
  aManifest({ spec: { resources: { limits: { cpu: '1' } } }, container: { resources: container } });
const podLevel: readonly [name: string, container: object, gates: Partial<ManifestGates>, want: object | null][] = [
  ['stay as the manifest has them', { requests: { cpu: '500m' } }, {}, { limits: { cpu: '1' } }],
  [
    'are completed without the gate',
    { requests: { cpu: '500m' } },
    { PodLevelResourcesFixDefaulting: false },
    { limits: { cpu: '1' }, requests: { cpu: '500m' } },
  ],
  ['are validated', { limits: { cpu: '2' } }, {}, null],
  [
    'are neither without their gate',
    { limits: { cpu: '2' } },
    { PodLevelResources: false, PodLevelResourcesFixDefaulting: false },
    { limits: { cpu: '1' } },
  ],
];
table('pod-level resources of a static pod', (row) => {
  for (const [name, container, gates, want] of podLevel) {
    row(name, () => {
      const { pods } = decode(podLevelLimit(container), 'file', '/manifests/web.yaml', podSyncGatesWith(gates));
      assert.deepEqual(pods[0]?.spec.resources ?? null, want);
    });
  }
});
