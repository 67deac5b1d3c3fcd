import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { KubeletConfiguration } from '../../../../src/main/config/kubelet-configuration.ts';
import { computeReload, fieldEffects } from '../../../../src/main/config-reload/index.ts';
import { kubeletOptions } from '../../../support/kubelet/kubelet-options.ts';
import { table } from '../../../support/table.ts';

const running = { ...kubeletOptions().live.running };

interface Case {
  readonly name: string;
  readonly change: Partial<KubeletConfiguration>;
  readonly applied?: readonly string[];
  readonly needsRestart?: readonly string[];
}

const cases: Case[] = [
  { name: 'nothing changes', change: {} },
  { name: 'an equal value is no change', change: { evictionHard: { ...running.evictionHard }, clusterDNS: [...running.clusterDNS] } },
  { name: 'live', change: { imageGCHighThresholdPercent: 70 }, applied: ['imageGCHighThresholdPercent'] },
  { name: 'a map', change: { evictionHard: { 'memory.available': '1Gi' } }, applied: ['evictionHard'] },
  { name: 'not live', change: { port: 1, maxPods: 2 }, needsRestart: ['port', 'maxPods'] },
  {
    name: 'both',
    change: { containerLogMaxSize: '1Mi', cgroupDriver: 'systemd' },
    applied: ['containerLogMaxSize'],
    needsRestart: ['cgroupDriver'],
  },
  {
    name: 'a live field of a struct, and another one',
    change: { logging: { ...running.logging, verbosity: 5, format: 'json' } },
    applied: ['logging.verbosity'],
    needsRestart: ['logging.format'],
  },
  {
    name: 'a field below a struct',
    change: { authorization: { ...running.authorization, mode: 'Webhook' } },
    needsRestart: ['authorization'],
  },
];

table('a reload applies the live fields and names the others', (row) => {
  for (const { name, change, applied = [], needsRestart = [] } of cases) {
    row(name, () => {
      const plan = computeReload(running, { ...running, ...change });
      assert.deepEqual([plan.applied, plan.needsRestart], [applied, needsRestart]);
      for (const [field, effect] of Object.entries(fieldEffects) as [keyof KubeletConfiguration, unknown][]) {
        if (effect === 'live' && field in change) assert.deepEqual(plan.config[field], change[field], field);
        if (effect === 'restart') assert.deepEqual(plan.config[field], running[field], field);
      }
      assert.equal(plan.config.logging.verbosity, (change.logging ?? running.logging).verbosity);
      assert.equal(plan.config.logging.format, running.logging.format);
    });
  }
});

test('every field of a configuration has an effect', () => {
  assert.deepEqual(Object.keys(fieldEffects).toSorted(), Object.keys(running).toSorted());
});

test('the live fields are those of the documentation', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../../docs/configuration-reload.md'), 'utf8');
  const documented = [...text.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, field]) => field),
  );
  const live = Object.entries(fieldEffects).flatMap(([field, effect]) => {
    if (typeof effect !== 'string') return effect.map((name) => `${field}.${name}`);
    return effect === 'live' ? [field] : [];
  });
  assert.deepEqual(new Set(documented), new Set(live));
});
