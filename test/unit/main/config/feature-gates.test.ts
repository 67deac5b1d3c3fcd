import assert from 'node:assert/strict';
import { test } from 'node:test';
import { featureGateTable } from '../../../../src/main/config/feature-gate-table.ts';
import { computeFeatureGates } from '../../../../src/main/config/feature-gates.ts';
import { table } from '../../../support/table.ts';

test('without settings every gate has its default, and no dependency is broken', () => {
  const { gates, errors, warnings } = computeFeatureGates({});
  assert.deepEqual([errors, warnings], [[], []]);
  for (const { name, default: value } of featureGateTable) assert.equal(gates.enabled(name), value, name);
});

test('every dependency in the table is a gate of the table', () => {
  const names = new Set(featureGateTable.map(({ name }) => name));
  for (const { dependsOn = [] } of featureGateTable) for (const name of dependsOn) assert.ok(names.has(name), name);
  assert.equal(names.size, featureGateTable.length);
});

const errorCases: { name: string; set: Record<string, boolean>; want: string[] }[] = [
  { name: 'an unknown gate is refused', set: { Foo: true }, want: ['unrecognized feature gate: Foo'] },
  { name: 'a name of every object’s is no gate', set: { constructor: true }, want: ['unrecognized feature gate: constructor'] },
  {
    name: 'a locked gate can’t be moved from its default',
    set: { SidecarContainers: false },
    want: ['cannot set feature gate SidecarContainers to false, feature is locked to true'],
  },
  { name: 'a locked gate may be set to its default', set: { SidecarContainers: true }, want: [] },
  {
    name: 'a gate that is on needs those that it depends on',
    set: { GracefulNodeShutdown: false },
    want: [
      'GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: [GracefulNodeShutdown]',
      'WindowsGracefulNodeShutdown is enabled, but depends on features that are disabled: [GracefulNodeShutdown]',
    ],
  },
];
table('gates that can’t be set so are refused', (row) => {
  for (const { name, set, want } of errorCases) {
    row(name, () => assert.deepEqual(computeFeatureGates(set).errors, want));
  }
});

test('setting a gate that will go away is warned of', () => {
  const { warnings } = computeFeatureGates({ SidecarContainers: true, AllowDNSOnlyNodeCSR: true, GracefulNodeShutdown: true });
  assert.deepEqual(warnings, [
    { message: 'setting GA feature gate. It will be removed in a future release.', featureGate: 'SidecarContainers', value: true },
    {
      message: 'setting deprecated feature gate. It will be removed in a future release.',
      featureGate: 'AllowDNSOnlyNodeCSR',
      value: true,
    },
  ]);
});

test('AllBeta moves the beta gates, but for those that were set by name', () => {
  const { gates } = computeFeatureGates({ AllBeta: false, GracefulNodeShutdown: true });
  assert.equal(gates.enabled('GracefulNodeShutdown'), true);
  assert.equal(gates.enabled('GracefulNodeShutdownBasedOnPodPriority'), false);
  assert.equal(gates.enabled('SidecarContainers'), true);
});

test('AllAlpha moves the alpha gates only', () => {
  const { gates } = computeFeatureGates({ AllAlpha: true });
  assert.equal(gates.enabled('CRIListStreaming'), true);
  assert.equal(gates.enabled('ClusterTrustBundle'), false);
});

test('a gate that v1.36 does not have can’t be asked for', () => {
  assert.throws(() => computeFeatureGates({}).gates.enabled('Foo'), /feature gate Foo is not known/);
});
