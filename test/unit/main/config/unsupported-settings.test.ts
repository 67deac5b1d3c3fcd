import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unsupportedSettings, findUnsupportedSettings } from '../../../../src/main/config/unsupported-settings.ts';
import { featureGateTable } from '../../../../src/main/config/generated/feature-gate-table.ts';
import { kubeletConfiguration } from '../../../../src/main/config/schema.ts';
import { flagTable } from '../../../../src/main/config/flags/flag-table.ts';

const none = new Map<string, string | undefined>();

test('every entry of the table is an existing field, feature gate or flag', () => {
  const gates = new Set(featureGateTable.map(({ name }) => `featureGates.${name}`));
  const names = new Set(flagTable.map(({ name }) => name));
  for (const { fields = [], flags = [] } of unsupportedSettings) {
    for (const path of fields) {
      if (gates.has(path)) continue;
      let at: unknown = kubeletConfiguration.absent;
      for (const name of path.split('.')) {
        assert.ok(typeof at === 'object' && at !== null && name in at, path);
        at = (at as Record<string, unknown>)[name];
      }
    }
    for (const flag of flags) assert.ok(names.has(flag), flag);
  }
});

test('a supported field is not reported', () => {
  const wire = { maxPods: 10, enableControllerAttachDetach: true, imagePullCredentialsVerificationPolicy: 'NeverVerify' };
  const flags = new Map([['experimental-allocatable-ignore-eviction', undefined]]);
  assert.deepEqual(findUnsupportedSettings(wire, flags), []);
});

test('an unsupported field that is set is reported once', () => {
  assert.deepEqual(findUnsupportedSettings({ volumePluginDir: '/opt', maxPods: 10 }, none), ['volumePluginDir']);
});

test('a field that turns its feature off is not reported', () => {
  const wire = {
    shutdownGracePeriod: '0s',
    enforceNodeAllocatable: ['none'],
    registerNode: false,
    authentication: { anonymous: { enabled: false } },
    tracing: null,
  };
  assert.deepEqual(findUnsupportedSettings(wire, none), []);
});

test('a flag is reported with its dashes, whether it sets a field or not', () => {
  const flags = new Map([
    ['housekeeping-interval', undefined],
    ['contention-profiling', 'enableContentionProfiling'],
    ['max-pods', 'maxPods'],
  ]);
  assert.deepEqual(findUnsupportedSettings({}, flags), ['--contention-profiling', '--housekeeping-interval']);
});
