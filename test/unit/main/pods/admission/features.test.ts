import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  missingFeaturesForUpdate,
  featureAdmission,
  type FeatureAdmissionOptions,
} from '../../../../../src/main/pods/admission/features.ts';
import type { PodSpec } from '../../../../../src/shared/kubernetes/api.ts';
import { aPod } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const all: FeatureAdmissionOptions = { podLevelResources: true, declared: ['RestartAllContainersOnContainerExits'] };
const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } };
const missing = (name: string) => `PodFeatureUnsupported: Pod requires node features that are not available: ${name}`;
const app = { name: 'app' };
const noExec = { name: 'v', mountPath: '/v', bindMountOptions: ['noexec'] };

const cases: readonly [name: string, spec: Partial<PodSpec>, options: Partial<FeatureAdmissionOptions>, want: string | null][] = [
  ['without requirements', {}, { declared: [] }, null],
  ['with a RestartAllContainers rule', { containers: [{ ...app, restartPolicyRules: [rule] }] }, {}, null],
  [
    'with a RestartAllContainers rule on a node without the feature',
    { containers: [{ ...app, restartPolicyRules: [rule] }] },
    { declared: [] },
    missing('RestartAllContainersOnContainerExits'),
  ],
  [
    'whose init container has a RestartAllContainers rule on a node without the feature',
    { initContainers: [{ name: 'init', restartPolicyRules: [rule] }] },
    { declared: [] },
    missing('RestartAllContainersOnContainerExits'),
  ],
  ['with a user namespace and the host network', { hostNetwork: true, hostUsers: false }, {}, missing('UserNamespacesHostNetworkSupport')],
  ['with bind mount options', { containers: [{ ...app, volumeMounts: [noExec] }] }, {}, missing('VolumeBindMountOptions')],
  [
    'whose init container has bind mount options',
    { initContainers: [{ name: 'init', volumeMounts: [noExec] }] },
    {},
    missing('VolumeBindMountOptions'),
  ],
  [
    'with bind mount options on a node that has them',
    { containers: [{ ...app, volumeMounts: [noExec] }] },
    { declared: ['VolumeBindMountOptions'] },
    null,
  ],
  ['with an empty list of bind mount options', { containers: [{ ...app, volumeMounts: [{ ...noExec, bindMountOptions: [] }] }] }, {}, null],
  ['with a user namespace and a pod network', { hostUsers: false }, {}, null],
  ['that requires a feature while NodeDeclaredFeatures is off', { hostNetwork: true, hostUsers: false }, { declared: null }, null],
  ['with pod-level resources', { resources: { requests: { cpu: '1' } } }, {}, null],
  [
    'with pod-level resources while the gate is off',
    { resources: { limits: { memory: '1Gi' } } },
    { podLevelResources: false },
    'PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled',
  ],
  [
    'with other resources at pod level while the gate is off',
    { resources: { requests: { 'example.com/gpu': '1' } } },
    { podLevelResources: false },
    null,
  ],
  ['with empty pod-level resources while the gate is off', { resources: {} }, { podLevelResources: false }, null],
];
table('admission of pods that require node features', (row) => {
  for (const [name, spec, options, want] of cases) {
    row(`what a node can do, and a pod ${name}`, () => {
      const result = featureAdmission({ ...all, ...options })(aPod({ spec: { containers: [app], ...spec } }), []);
      const rejection = result && 'rejection' in result ? `${result.rejection.reason}: ${result.rejection.message}` : null;
      assert.equal(rejection, want);
    });
  }
});

test('an update of pod-level resources or of an init container’s resources names the missing feature', () => {
  const pod = (fields: Partial<PodSpec>) => aPod({ spec: { containers: [app], ...fields } });
  const init = (cpu: string, restartPolicy?: string) =>
    pod({ initContainers: [{ name: 'init', resources: { requests: { cpu } }, ...(restartPolicy && { restartPolicy }) }] });
  const missingFeature = (name: string) => `Pod requires node features that are not available: ${name}`;
  const declared = all.declared;
  assert.equal(missingFeaturesForUpdate(pod({}), pod({}), declared), null);
  assert.equal(
    missingFeaturesForUpdate(pod({ resources: { requests: { cpu: '1' } } }), pod({ resources: { requests: { cpu: '2' } } }), declared),
    missingFeature('InPlacePodLevelResourcesVerticalScaling'),
  );
  assert.equal(missingFeaturesForUpdate(init('1'), init('2'), declared), missingFeature('InPlacePodVerticalScalingInitContainers'));
  assert.equal(missingFeaturesForUpdate(init('1', 'Always'), init('2', 'Always'), declared), null);
  assert.equal(missingFeaturesForUpdate(init('1'), init('2'), null), null);
});
