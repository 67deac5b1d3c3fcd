import assert from 'node:assert/strict';
import { test } from 'node:test';
import { definitions } from '../../../../src/shared/metrics/definitions/all-definitions.ts';
import { table } from '../../../support/table.ts';
import { upstreamMetrics } from '../../../support/upstream-metrics.ts';

/** Upstream's metrics of /metrics that are not shown, by the reason. A metric that is added leaves this list. */
const missing: Readonly<Record<string, readonly RegExp[]>> = {
  'no dynamic resources': [/^dra_/],
  'no device plugins, and no other plugins': [/^kubelet_device_plugin_/, /^plugin_manager_/],
  'no managers of processors, memory and topology': [
    /^kubelet_container_aligned_compute_resources_/,
    /^kubelet_(?:cpu|memory|topology)_manager_/,
    /^kubelet_resource_manager_/,
  ],
  'no SELinux': [/^volume_manager_selinux_/],
  'nothing is reconstructed': [/^force_cleaned_failed_volume_/, /^reconstruct_volume_/],
  'no cache of pull records': [/^kubelet_imagemanager_inmemory_/],
  'no informers of client-go': [/^informer_/],
  'upstream never sets it': [/^rest_client_exec_plugin_policy_call_total$/],
};
/** Rendered from the tables of usage and storage. */
const elsewhere = new Set([
  'kubelet_container_log_filesystem_used_bytes',
  ...['available_bytes', 'capacity_bytes', 'inodes', 'inodes_free', 'inodes_used', 'used_bytes'].map(
    (name) => `kubelet_volume_stats_${name}`,
  ),
]);

const byName = new Map(definitions.map((definition) => [definition.name, definition]));
const upstream = upstreamMetrics.filter(({ page }) => page === '/metrics');
const isMissing = (name: string) =>
  Object.values(missing)
    .flat()
    .some((pattern) => pattern.test(name));

table('upstream’s metrics of /metrics', (row) => {
  for (const { name, type, stability, labels, buckets } of upstream) {
    const definition = byName.get(name);
    row(name, () => {
      if (!definition) return assert.ok(isMissing(name) || elsewhere.has(name), `${name} is neither defined nor listed as missing`);
      assert.ok(!isMissing(name), `${name} is defined: remove it from the list of missing ones`);
      assert.deepEqual(
        { type: definition.type, stability: definition.stability, labels: definition.labelNames.toSorted() },
        { type, stability, labels },
      );
      assert.deepEqual(definition.buckets.map(rounded), buckets.map(rounded));
    });
  }
});

test('each missing metric is one of upstream', () => {
  for (const pattern of Object.values(missing).flat())
    assert.ok(
      upstream.some(({ name }) => pattern.test(name)),
      String(pattern),
    );
});

/** Bounds that were computed differ in their last digit. */
function rounded(bound: number): number {
  return Number(bound.toPrecision(12));
}
