import assert from 'node:assert/strict';
import { test } from 'node:test';
import { featureGateTable } from '../../../../src/main/config/generated/feature-gate-table.ts';
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
  { name: 'an unknown gate is rejected', set: { Foo: true }, want: ['unrecognized feature gate: Foo'] },
  { name: 'the name of an object’s property is not a gate', set: { constructor: true }, want: ['unrecognized feature gate: constructor'] },
  {
    name: 'a locked gate can only be set to its default',
    set: { HostnameOverride: false },
    want: ['cannot set feature gate HostnameOverride to false, feature is locked to true'],
  },
  { name: 'a locked gate may be set to its default', set: { HostnameOverride: true }, want: [] },
  {
    name: 'an enabled gate requires its dependencies',
    set: { GracefulNodeShutdown: false },
    want: [
      'GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: [GracefulNodeShutdown]',
      'WindowsGracefulNodeShutdown is enabled, but depends on features that are disabled: [GracefulNodeShutdown]',
    ],
  },
];
table('invalid gates are rejected', (row) => {
  for (const { name, set, want } of errorCases) {
    row(name, () => assert.deepEqual(computeFeatureGates(set).errors, want));
  }
});

test('setting a gate that will be removed causes a warning', () => {
  const { warnings } = computeFeatureGates({ HostnameOverride: true, AllowDNSOnlyNodeCSR: true, GracefulNodeShutdown: true });
  assert.deepEqual(warnings, [
    { message: 'setting GA feature gate. It will be removed in a future release.', featureGate: 'HostnameOverride', value: true },
    {
      message: 'setting deprecated feature gate. It will be removed in a future release.',
      featureGate: 'AllowDNSOnlyNodeCSR',
      value: true,
    },
  ]);
});

test('AllBeta sets the beta gates that are not set by name', () => {
  const { gates } = computeFeatureGates({ AllBeta: false, GracefulNodeShutdown: true });
  assert.equal(gates.enabled('GracefulNodeShutdown'), true);
  assert.equal(gates.enabled('GracefulNodeShutdownBasedOnPodPriority'), false);
  assert.equal(gates.enabled('HostnameOverride'), true);
});

test('AllAlpha sets only alpha gates', () => {
  const { gates } = computeFeatureGates({ AllAlpha: true });
  assert.equal(gates.enabled('CRIListStreaming'), true);
  assert.equal(gates.enabled('GenericWorkload'), false);
});

test('reading an unknown gate throws', () => {
  assert.throws(() => computeFeatureGates({}).gates.enabled('Foo'), /feature gate Foo is not known/);
});
