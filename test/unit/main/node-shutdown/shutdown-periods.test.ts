import assert from 'node:assert/strict';
import type { AllocatedPod } from '../../../../src/main/allocation/index.ts';
import {
  gracePeriodSeconds,
  groupByPriority,
  shutdownPeriods,
  totalMs,
  type ShutdownPeriod,
  type ShutdownSettings,
} from '../../../../src/main/node-shutdown/shutdown-periods.ts';
import { computeFeatureGates } from '../../../../src/main/config/feature-gates.ts';
import { aPod } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';

const aPodOf = (spec: AllocatedPod['spec']): AllocatedPod => ({ ...aPod(), spec });
const noSettings: ShutdownSettings = { shutdownGracePeriod: 0, shutdownGracePeriodCriticalPods: 0, shutdownGracePeriodByPodPriority: [] };
const period = (priority: number, shutdownGracePeriodSeconds: number): ShutdownPeriod => ({ priority, shutdownGracePeriodSeconds });
const critical = 2_000_000_000;

const settings: { name: string; settings?: Partial<ShutdownSettings>; gates?: Record<string, boolean>; want: ShutdownPeriod[] }[] = [
  { name: 'none by default', want: [] },
  {
    name: 'what critical pods leave for ordinary pods',
    settings: { shutdownGracePeriod: 30_000, shutdownGracePeriodCriticalPods: 10_000 },
    want: [period(0, 20), period(critical, 10)],
  },
  {
    name: 'three minutes of five, with two for critical pods',
    settings: { shutdownGracePeriod: 300_000, shutdownGracePeriodCriticalPods: 120_000 },
    want: [period(0, 180), period(critical, 120)],
  },
  {
    name: 'none when critical pods get more than all',
    settings: { shutdownGracePeriod: 1000, shutdownGracePeriodCriticalPods: 100_000 },
    want: [],
  },
  { name: 'none with a time for critical pods only', settings: { shutdownGracePeriodCriticalPods: 10_000 }, want: [] },
  {
    name: 'none for critical pods without a time of theirs',
    settings: { shutdownGracePeriod: 30_000 },
    want: [period(0, 30), period(critical, 0)],
  },
  {
    name: 'all for critical pods',
    settings: { shutdownGracePeriod: 5000, shutdownGracePeriodCriticalPods: 5000 },
    want: [period(0, 0), period(critical, 5)],
  },
  {
    name: 'whole seconds',
    settings: { shutdownGracePeriod: 3900, shutdownGracePeriodCriticalPods: 1500 },
    want: [period(0, 2), period(critical, 1)],
  },
  {
    name: 'by priority, the lowest first',
    settings: { shutdownGracePeriodByPodPriority: [period(100, 1), period(-5, 2), period(critical, 3)] },
    want: [period(-5, 2), period(100, 1), period(critical, 3)],
  },
  {
    name: 'of two classes while times by priority are off',
    settings: { shutdownGracePeriod: 3000, shutdownGracePeriodByPodPriority: [period(100, 1)] },
    gates: { GracefulNodeShutdownBasedOnPodPriority: false },
    want: [period(0, 3), period(critical, 0)],
  },
  {
    name: 'none while shutdowns are not graceful, in the old fields',
    settings: { shutdownGracePeriod: 100_000 },
    gates: { GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: false },
    want: [],
  },
  {
    name: 'none while shutdowns are not graceful',
    settings: { shutdownGracePeriodByPodPriority: [period(100, 1)] },
    gates: { GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: false },
    want: [],
  },
];
table('the times of pods before a shutdown are', (row) => {
  for (const { name, settings: given = {}, gates = {}, want } of settings) {
    row(name, () => assert.deepEqual(shutdownPeriods({ ...noSettings, ...given }, computeFeatureGates(gates).gates), want));
  }
});

const two = [period(0, 20), period(critical, 10)];
const four = [period(-10, 1), period(0, 2), period(1000, 3), period(critical, 4)];
const highestUserDefinable = 1_000_000_000;
const groups: { name: string; periods: ShutdownPeriod[]; priorities: (number | undefined)[]; want: (number | undefined)[][] }[] = [
  { name: 'without a priority: that of 0', periods: two, priorities: [undefined], want: [[undefined], []] },
  { name: 'of exactly its priority', periods: four, priorities: [-10, 0, 1000, critical], want: [[-10], [0], [1000], [critical]] },
  { name: 'between two: the lower', periods: four, priorities: [-1, 999, 1001], want: [[-1], [999], [1001], []] },
  { name: 'above all: the highest', periods: two, priorities: [critical + 1000], want: [[], [critical + 1000]] },
  { name: 'below all: the lowest', periods: two, priorities: [-2_147_483_648], want: [[-2_147_483_648], []] },
  {
    name: 'of two with its priority: the first',
    periods: [period(0, 1), period(5, 2), period(5, 3)],
    priorities: [5],
    want: [[], [5], []],
  },
  {
    name: 'of two below its priority: the last',
    periods: [period(0, 1), period(0, 2), period(9, 3)],
    priorities: [5],
    want: [[], [5], []],
  },
  {
    name: 'of ordinary pods, up to the highest priority that users may define',
    periods: [period(0, 180), period(critical, 120)],
    priorities: [0, highestUserDefinable, critical - 1, critical],
    want: [[0, highestUserDefinable, critical - 1], [critical]],
  },
  {
    name: 'of its own among adjacent ones, with those below and above at the ends',
    periods: [period(1, 10), period(2, 20), period(3, 30), period(4, 40)],
    priorities: [0, 1, 2, 3, 4, 5],
    want: [[0, 1], [2], [3], [4, 5]],
  },
  { name: 'the only one', periods: [period(100, 9)], priorities: [0, 100, 200], want: [[0, 100, 200]] },
];
table('a pod belongs to the group', (row) => {
  for (const { name, periods, priorities, want } of groups) {
    row(name, () => {
      const pods = priorities.map((priority) => aPod({ spec: priority === undefined ? {} : { priority } }));
      assert.deepEqual(
        groupByPriority(periods, pods).map((group) => group.pods.map(({ spec }) => spec.priority)),
        want,
      );
    });
  }
});

const graces: { name: string; ofPod: number | undefined; ofGroup: number; want: number }[] = [
  { name: 'its own, if it is shorter', ofPod: 5, ofGroup: 20, want: 5 },
  { name: 'that of its group, if its own is longer', ofPod: 300, ofGroup: 20, want: 20 },
  { name: 'that of its group, without one of its own', ofPod: undefined, ofGroup: 20, want: 20 },
  { name: 'none, if its group has no time', ofPod: 30, ofGroup: 0, want: 0 },
  { name: 'none, if it wants none', ofPod: 0, ofGroup: 20, want: 0 },
];
table('the grace period of a pod is', (row) => {
  for (const { name, ofPod, ofGroup, want } of graces) {
    row(name, () => {
      const pod = aPod({ spec: ofPod === undefined ? {} : { terminationGracePeriodSeconds: ofPod } });
      const { terminationGracePeriodSeconds: _, ...withoutGrace } = pod.spec;
      const given = ofPod === undefined ? { ...pod, spec: withoutGrace } : pod;
      assert.equal(gracePeriodSeconds(given, period(0, ofGroup)), want);
    });
  }
});

/** The grace periods of an ordinary and a critical pod, from configuration to pod. */
const ofBoth: {
  name: string;
  allMs: number;
  criticalMs: number;
  ofPods: number | undefined;
  want: [ordinary: number, critical: number];
}[] = [
  { name: 'those of their groups, without their own', allMs: 30_000, criticalMs: 10_000, ofPods: undefined, want: [20, 10] },
  { name: 'their own, if those are shorter', allMs: 30_000, criticalMs: 10_000, ofPods: 2, want: [2, 2] },
  { name: 'those of their groups, if their own are long', allMs: 30_000, criticalMs: 10_000, ofPods: 1000, want: [20, 10] },
  { name: 'all for ordinary pods', allMs: 30_000, criticalMs: 0, ofPods: undefined, want: [30, 0] },
  { name: 'all for critical pods', allMs: 5000, criticalMs: 5000, ofPods: undefined, want: [0, 5] },
];
table('the grace periods of an ordinary and a critical pod are', (row) => {
  for (const { name, allMs, criticalMs, ofPods, want } of ofBoth) {
    row(name, () => {
      const periods = shutdownPeriods(
        { ...noSettings, shutdownGracePeriod: allMs, shutdownGracePeriodCriticalPods: criticalMs },
        computeFeatureGates({}).gates,
      );
      const pods = [0, critical].map((priority) => {
        const { terminationGracePeriodSeconds: _, ...spec } = aPod({ spec: { priority } }).spec;
        return aPodOf({ ...spec, ...(ofPods !== undefined && { terminationGracePeriodSeconds: ofPods }) });
      });
      const graced = groupByPriority(periods, pods).flatMap((group) => group.pods.map((pod) => gracePeriodSeconds(pod, group.period)));
      assert.deepEqual(graced, want);
    });
  }
});

table('the delay of a shutdown', (row) => {
  row('is the sum of all times', () => assert.equal(totalMs(four), 10_000));
});
