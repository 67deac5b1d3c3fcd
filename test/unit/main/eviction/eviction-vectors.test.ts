import assert from 'node:assert/strict';
import { parse } from 'yaml';
import { table } from '../../../support/table.ts';
import { applyDefaults, fileEvictionHard, legacyDefaults } from '../../../../src/main/config/defaults.ts';
import { computeFeatureGates } from '../../../../src/main/config/feature-gates.ts';
import { FieldPath } from '../../../../src/main/config/field-path.ts';
import { kubeletConfiguration } from '../../../../src/main/config/schema.ts';
import { checkEviction } from '../../../../src/main/config/validation/eviction.ts';
import { evictionMessage } from '../../../../src/main/eviction/eviction-message.ts';
import { observe } from '../../../../src/main/eviction/observe.ts';
import { rankPods } from '../../../../src/main/eviction/rank-pods.ts';
import { parseThresholds, thresholdQuantity, withContainerFsThresholds } from '../../../../src/main/eviction/thresholds.ts';
import { formatQuantity } from '../../../../src/shared/kubernetes/quantity.ts';
import { layoutOf, rowsOf, settingsOf, toRows } from './vectors.ts';

table('thresholds are read as by upstream', (row) => {
  for (const { settings, thresholds, error } of rowsOf('parse')) {
    // config/validation rejects what upstream rejects here.
    if (error !== undefined) continue;
    row(JSON.stringify(settings), () => assert.deepEqual(toRows(parseThresholds(settingsOf(settings))), thresholds));
  }
});

table('thresholds of the filesystem of writable layers are those of the filesystem that they are on', (row) => {
  for (const { settings, thresholds, ...disks } of rowsOf('containerfs')) {
    row(JSON.stringify({ settings, ...disks }), () => {
      const computed = withContainerFsThresholds(parseThresholds(settingsOf(settings)), layoutOf(disks));
      assert.deepEqual(toRows(computed), thresholds);
    });
  }
});

table('a threshold has upstream’s amount', (row) => {
  for (const { value, capacity, quantity } of rowsOf('quantity')) {
    row(`${value} of ${capacity}`, () => {
      const none = { enforceNodeAllocatable: [], evictionSoft: {}, evictionSoftGracePeriod: {}, evictionMinimumReclaim: {} };
      const [threshold] = parseThresholds({ ...none, evictionHard: { 'memory.available': value } });
      assert.equal(formatQuantity(thresholdQuantity(threshold!.value, capacity)), quantity);
    });
  }
});

table('pods are ranked as by upstream', (row) => {
  for (const { signal, pods, stats, ranked, ...disks } of rowsOf('rank')) {
    row(`${signal} ${JSON.stringify(disks)} ${ranked.join(' ')}`, () => {
      const names = rankPods(signal, pods, ({ metadata }) => stats[metadata.name], layoutOf(disks)).map(({ pod }) => pod.metadata.name);
      assert.deepEqual(names, ranked);
    });
  }
});

table('an eviction has upstream’s message and annotations', (row) => {
  for (const { resource, settings, node, observations, pod, stats, message, annotations } of rowsOf('message')) {
    row(message, () => {
      assert.deepEqual(Object.fromEntries(observe(node)), observations);
      const thresholds = parseThresholds(settingsOf(settings));
      assert.deepEqual(evictionMessage(resource, pod, stats ?? undefined, thresholds, observe(node)), { message, annotations });
    });
  }
});

table('the defaults of hard thresholds are merged as by upstream', (row) => {
  for (const { file, evictionHard } of rowsOf('defaults')) {
    row(file, () => {
      const raw = kubeletConfiguration.read(parse(file), new FieldPath([]));
      assert.deepEqual(fileEvictionHard(raw), evictionHard);
    });
  }
});

table('settings that upstream cannot read are rejected, and no others', (row) => {
  for (const { settings, error } of rowsOf('parse')) {
    const config = { ...applyDefaults(legacyDefaults(), computeFeatureGates({}).gates), ...settingsOf(settings) };
    const rejects = checkEviction({ config } as Parameters<typeof checkEviction>[0]).length > 0;
    row(`${JSON.stringify(settings)}: ${error}`, () => assert.equal(rejects, error !== undefined));
  }
});
