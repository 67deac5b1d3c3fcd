import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDefaults, defaultEvictionHard, fileEvictionHard, legacyDefaults } from '../../../../src/main/config/defaults.ts';
import { computeFeatureGates } from '../../../../src/main/config/feature-gates.ts';
import type { KubeletConfiguration } from '../../../../src/main/config/kubelet-configuration.ts';
import { kubeletConfiguration, type RawConfiguration } from '../../../../src/main/config/schema.ts';
import { table } from '../../../support/table.ts';

const complete = (fields: Partial<RawConfiguration> = {}, gates: Record<string, boolean> = {}): KubeletConfiguration =>
  applyDefaults({ ...kubeletConfiguration.absent, ...fields }, computeFeatureGates(gates).gates);

const cases: { name: string; fields: Partial<RawConfiguration>; gates?: Record<string, boolean>; want: Partial<KubeletConfiguration> }[] = [
  {
    name: 'the node status is reported every 5 minutes',
    fields: {},
    want: { nodeStatusUpdateFrequency: 10_000, nodeStatusReportFrequency: 300_000 },
  },
  {
    name: 'nodeStatusUpdateFrequency alone also sets nodeStatusReportFrequency',
    fields: { nodeStatusUpdateFrequency: 20_000 },
    want: { nodeStatusUpdateFrequency: 20_000, nodeStatusReportFrequency: 20_000 },
  },
  { name: 'images are pulled one at a time', fields: {}, want: { serializeImagePulls: true } },
  { name: 'a limit of parallel pulls means parallel pulls', fields: { maxParallelImagePulls: 3 }, want: { serializeImagePulls: false } },
  { name: 'a limit of one pull does not', fields: { maxParallelImagePulls: 1 }, want: { serializeImagePulls: true } },
  { name: 'a negative podPidsLimit means no limit', fields: { podPidsLimit: -7 }, want: { podPidsLimit: -1 } },
  {
    name: 'the restart period is 5 minutes while its gate is on',
    fields: {},
    want: { crashLoopBackOff: { maxContainerRestartPeriod: 300_000 } },
  },
  {
    name: 'the restart period is not set while its gate is off',
    fields: {},
    gates: { KubeletCrashLoopBackOffMax: false },
    want: { crashLoopBackOff: { maxContainerRestartPeriod: null } },
  },
  {
    name: 'image credentials are verified by the default policy while its gate is on',
    fields: {},
    want: { imagePullCredentialsVerificationPolicy: 'NeverVerifyPreloadedImages' },
  },
  {
    name: 'image credentials have no policy while its gate is off',
    fields: {},
    gates: { KubeletEnsureSecretPulledImages: false },
    want: { imagePullCredentialsVerificationPolicy: '' },
  },
];
table('defaults that depend on other fields or gates', (row) => {
  for (const { name, fields, gates, want } of cases) {
    row(name, () => {
      const config = complete(fields, gates);
      for (const [field, value] of Object.entries(want)) assert.deepEqual(config[field as keyof KubeletConfiguration], value, field);
    });
  }
});

test('without a file the legacy defaults apply: a read-only port and no authentication', () => {
  const { readOnlyPort, authentication, authorization } = legacyDefaults();
  assert.deepEqual(
    [readOnlyPort, authentication.anonymous.enabled, authentication.webhook.enabled, authorization.mode],
    [10255, true, false, 'AlwaysAllow'],
  );
});

test('a file without thresholds has the default ones', () => {
  assert.deepEqual(fileEvictionHard(kubeletConfiguration.absent), defaultEvictionHard);
});

test('a file with thresholds has only those', () => {
  assert.deepEqual(fileEvictionHard({ ...kubeletConfiguration.absent, evictionHard: { 'pid.available': '5%' } }), {
    'pid.available': '5%',
  });
});

test('a file with mergeDefaultEvictionSettings has its thresholds and the default ones', () => {
  const raw = { ...kubeletConfiguration.absent, mergeDefaultEvictionSettings: true, evictionHard: { 'nodefs.available': '20%' } };
  assert.deepEqual(fileEvictionHard(raw), { ...defaultEvictionHard, 'nodefs.available': '20%' });
});
