import assert from 'node:assert/strict';
import { pressureAdmission } from '../../../../src/main/pods/admission/index.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { podUID } from '../../../../src/shared/kubernetes/ids.ts';
import { EvictionNode } from '../../../support/eviction/node.ts';
import { table } from '../../../support/table.ts';
import { layoutOf, rowsOf, settingsOf, type PassResult } from './vectors.ts';

table('passes have the results of upstream’s manager', (row) => {
  for (const [index, { settings, pods, stats, steps, startMs, admitted, ...rest }] of rowsOf('passes').entries()) {
    row(`${index}: ${JSON.stringify(settings)}`, async () => {
      const { pressureTransitionPeriodMs, maxPodGracePeriodSeconds, localStorageCapacityIsolation } = rest;
      const node = new EvictionNode({
        thresholds: settingsOf(settings),
        layout: layoutOf(rest),
        pressureTransitionPeriodMs,
        maxPodGracePeriodSeconds,
        localStorageCapacityIsolation,
        startMs,
      });
      node.pods = pods;
      node.podStats = stats;
      for (const [number, { advanceMs, node: usage, afterReclaim, want }] of steps.entries()) {
        await node.clock.advance(advanceMs);
        node.stats = usage;
        node.onReclaim = () => {
          if (afterReclaim) node.stats = afterReclaim;
        };
        await node.pass();
        assert.deepEqual(result(node, admitted), toResult(want), `step ${number}`);
        // As in upstream's test, the evicted pods are gone at once, and active nevertheless.
        for (const pod of pods) node.manager.onPodFinished(podUID(pod));
        for (const record of [node.kills, node.reclaims, node.events]) record.length = 0;
      }
    });
  }
});

function result({ pressure, kills, reclaims, events }: EvictionNode, admitted: readonly Pod[]): PassResult {
  const admit = pressureAdmission(() => pressure.conditions, false);
  const podEvents = events.filter(({ object }) => object.kind === 'Pod');
  return {
    conditions: [...pressure.conditions].sort(),
    evictions: kills.map(({ pod, gracePeriodOverrideSeconds, failed }, index) => ({
      pod,
      gracePeriodSeconds: gracePeriodOverrideSeconds!,
      reason: failed!.reason,
      message: failed!.message,
      ...(failed!.disruption && { disruptionReason: failed!.disruption.reason, disruptionMessage: failed!.disruption.message }),
      annotations: podEvents[index]!.annotations ?? {},
    })),
    reclaims,
    nodeEvents: events
      .filter(({ object }) => object.kind === 'Node')
      .map(({ type, reason, message }) => `${type} ${reason} ${message.replace('Attempting to reclaim ', '')}`),
    rejections: admitted.flatMap((pod) => {
      const admission = admit(pod, []);
      if (!admission || !('rejection' in admission)) return [];
      const { reason, message } = admission.rejection;
      return [`${pod.metadata.name}: ${reason}: ${pressure.conditions.size > 1 ? 'several conditions' : message}`];
    }),
  };
}

function toResult(want: PassResult): PassResult {
  return { ...want, evictions: want.evictions.map((eviction) => ({ ...eviction, annotations: eviction.annotations ?? {} })) };
}
