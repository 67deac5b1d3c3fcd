import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  missingFeaturesForUpdate,
  featureAdmission,
  type FeatureAdmissionOptions,
} from '../../../../../src/main/pods/admission/features.ts';
import type { PodSpec } from '../../../../../src/shared/kubernetes/api.ts';
import { aPod } from '../../../../support/pods.ts';
import { table } from '../../../../support/table.ts';

const all: FeatureAdmissionOptions = { podLevelResources: true, declared: ['RestartAllContainersOnContainerExits'] };
const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } };
const missing = (name: string) => `PodFeatureUnsupported: Pod requires node features that are not available: ${name}`;
const app = { name: 'app' };

const cases: readonly [name: string, spec: Partial<PodSpec>, options: Partial<FeatureAdmissionOptions>, want: string | null][] = [
  ['that asks for nothing', {}, { declared: [] }, null],
  ['that may restart as a whole', { containers: [{ ...app, restartPolicyRules: [rule] }] }, {}, null],
  [
    'that may restart as a whole, where nothing does',
    { containers: [{ ...app, restartPolicyRules: [rule] }] },
    { declared: [] },
    missing('RestartAllContainersOnContainerExits'),
  ],
  [
    'whose init container may restart all of it, where nothing does',
    { initContainers: [{ name: 'init', restartPolicyRules: [rule] }] },
    { declared: [] },
    missing('RestartAllContainersOnContainerExits'),
  ],
  [
    'with users of its own in the network of the host',
    { hostNetwork: true, hostUsers: false },
    {},
    missing('UserNamespacesHostNetworkSupport'),
  ],
  ['with users of its own and a network of its own', { hostUsers: false }, {}, null],
  ['that needs what nobody asks for', { hostNetwork: true, hostUsers: false }, { declared: null }, null],
  ['with resources of its own', { resources: { requests: { cpu: '1' } } }, {}, null],
  [
    'with resources of its own, where that is off',
    { resources: { limits: { memory: '1Gi' } } },
    { podLevelResources: false },
    'PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled',
  ],
  ['with an empty claim for resources, where that is off', { resources: {} }, { podLevelResources: false }, null],
];
table('what a node can do, and what a pod asks of it', (row) => {
  for (const [name, spec, options, want] of cases) {
    row(`what a node can do, and a pod ${name}`, () => {
      const verdict = featureAdmission({ ...all, ...options })(aPod({ spec: { containers: [app], ...spec } }), []);
      const said = verdict && 'rejection' in verdict ? `${verdict.rejection.reason}: ${verdict.rejection.message}` : null;
      assert.equal(said, want);
    });
  }
});

test('a change that the node cannot follow is said so: of the resources of the pod, or of an init container that is no sidecar', () => {
  const pod = (fields: Partial<PodSpec>) => aPod({ spec: { containers: [app], ...fields } });
  const init = (cpu: string, restartPolicy?: string) =>
    pod({ initContainers: [{ name: 'init', resources: { requests: { cpu } }, ...(restartPolicy && { restartPolicy }) }] });
  const said = (name: string) => `Pod requires node features that are not available: ${name}`;
  const declared = all.declared;
  assert.equal(missingFeaturesForUpdate(pod({}), pod({}), declared), null);
  assert.equal(
    missingFeaturesForUpdate(pod({ resources: { requests: { cpu: '1' } } }), pod({ resources: { requests: { cpu: '2' } } }), declared),
    said('InPlacePodLevelResourcesVerticalScaling'),
  );
  assert.equal(missingFeaturesForUpdate(init('1'), init('2'), declared), said('InPlacePodVerticalScalingInitContainers'));
  assert.equal(missingFeaturesForUpdate(init('1', 'Always'), init('2', 'Always'), declared), null);
  assert.equal(missingFeaturesForUpdate(init('1'), init('2'), null), null);
});
