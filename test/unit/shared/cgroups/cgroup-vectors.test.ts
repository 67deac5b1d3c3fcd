/** Compares the values of cgroups with those that upstream's own code computed (scripts/upstream/values/cgroups). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { AllocatedPod } from '../../../../src/main/allocation/index.ts';
import { hasPodLevelResources } from '../../../../src/shared/kubernetes/pod-resources.ts';
import { qosClass } from '../../../../src/shared/kubernetes/qos-class.ts';
import { isZeroQuantity } from '../../../../src/shared/kubernetes/quantity.ts';
import {
  computePodCgroupResources,
  sharesFromWeight,
  weightFromShares,
  type CgroupResources,
} from '../../../../src/shared/cgroups/cgroup-values.ts';
import { toCgroupLimits, unreservedCapacity } from '../../../../src/main/node-cgroups/node-limits.ts';
import { computeQosLevels, toPodRequests } from '../../../../src/main/node-cgroups/qos-levels.ts';
import { toUnitProperties } from '../../../../src/workers/pod-sync/cgroups/systemd/unit-properties.ts';
import { computeMemoryQos } from '../../../../src/workers/pod-sync/pod/runtime-config/memory-qos.ts';
import { table } from '../../../support/table.ts';

type Amounts = Record<string, string>;
type Properties = Record<'v1' | 'v2', [name: string, type: string, value: string][]>;
type Policy = 'None' | 'TieredReservation';

interface Vectors {
  readonly weights: [shares: number, weight: number, sharesAgain: number][];
  readonly pods: {
    readonly pod: AllocatedPod;
    readonly options: {
      readonly enforceCPULimits: boolean;
      readonly cpuPeriodUs: number;
      readonly podLevelResources: boolean;
      readonly customPeriod: boolean;
      readonly memoryQoS: boolean;
      readonly memoryReservationPolicy: Policy;
      readonly throttlingFactor: number | null;
    };
    readonly config: CgroupResources;
    readonly properties?: Properties;
  }[];
  readonly qos: {
    readonly pods: number;
    readonly memoryQoS: boolean;
    readonly memoryReservationPolicy: Policy;
    /** −1: not reserved. */
    readonly reservedPercent: number;
    readonly allocatableMemoryBytes: number;
    readonly configs: Record<'kubepods' | 'burstable' | 'besteffort', CgroupResources>;
  }[];
  readonly node: ({
    readonly capacity: Amounts;
    readonly systemReserved: Amounts | null;
    readonly kubeReserved: Amounts | null;
    readonly properties: Properties;
  } & Record<
    'allocatable' | 'system' | 'kube',
    { readonly config: CgroupResources | null; readonly compressible: CgroupResources | null }
  >)[];
  readonly containers: {
    readonly pod: AllocatedPod;
    readonly factor: number | null;
    readonly memoryReservationPolicy: Policy;
    readonly allocatableMemoryBytes: number;
    readonly unified: Record<string, string>;
  }[];
}

const lines = readFileSync(new URL('cgroup-vectors.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n');
const rows = lines.map((line) => JSON.parse(line) as { readonly kind: keyof Vectors; readonly row: unknown });
const vectors = Object.fromEntries(
  ['weights', 'pods', 'qos', 'node', 'containers'].map((kind) => [kind, rows.filter((row) => row.kind === kind).map(({ row }) => row)]),
) as unknown as Vectors;
/** The program computes the properties for this version of systemd. */
const systemdVersion = 252;

table('shares of cgroup v1 are converted to weights of v2 and back as upstream does', (row) => {
  for (const [shares, weight, again] of vectors.weights) {
    row(`${shares}`, () => assert.deepEqual([weightFromShares(shares), sharesFromWeight(weight)], [weight, again]));
  }
});

table('the cgroup of a pod has upstream’s values, and its slice upstream’s properties', (row) => {
  for (const { pod, options, config, properties } of vectors.pods) {
    row(`${pod.metadata.name} ${JSON.stringify(options)}`, () => {
      const reservesMemory = options.memoryQoS && options.memoryReservationPolicy === 'TieredReservation';
      const memoryThrottlingFactor = options.memoryQoS ? options.throttlingFactor : null;
      const resources = computePodCgroupResources(pod, { ...options, reservesMemory, memoryThrottlingFactor, podPidsLimit: 0 });
      assert.deepEqual(resources, config);
      if (properties) assertProperties({ ...resources, pidsLimit: 100 }, properties);
    });
  }
});

table('the cgroups of the QoS levels have upstream’s values', (row) => {
  const requests = new Map(
    [...new Map(vectors.pods.map(({ pod }) => [pod.metadata.name, pod])).values()].map((pod, index) => [index, toPodRequests(pod, true)]),
  );
  for (const { configs, ...input } of vectors.qos) {
    row(JSON.stringify(input), () => {
      const levels = computeQosLevels([...requests.values()].slice(0, input.pods), {
        hugePageSizes: ['2MB', '1GB'],
        reservesMemory: input.memoryQoS && input.memoryReservationPolicy === 'TieredReservation',
        ...(input.reservedPercent < 0 ? {} : { reservedMemoryPercent: input.reservedPercent }),
        allocatableMemoryBytes: input.allocatableMemoryBytes,
      });
      assert.deepEqual(levels, { Guaranteed: configs.kubepods, Burstable: configs.burstable, BestEffort: configs.besteffort });
    });
  }
});

table('the limits of all pods, of the system and of Kubernetes are upstream’s', (row) => {
  for (const { capacity, systemReserved, kubeReserved, properties, ...limits } of vectors.node) {
    row(JSON.stringify({ systemReserved, kubeReserved }), () => {
      const allocatable = unreservedCapacity(capacity, systemReserved ?? {}, kubeReserved ?? {});
      const targets = { allocatable, system: systemReserved, kube: kubeReserved };
      for (const name of ['allocatable', 'system', 'kube'] as const) {
        const amounts = targets[name];
        assert.deepEqual(amounts && toCgroupLimits(amounts), limits[name].config);
        assert.deepEqual(amounts && toCgroupLimits(amounts, true), limits[name].compressible);
      }
      assertProperties(toCgroupLimits(allocatable), properties);
    });
  }
});

table('the memory of containers is protected and throttled as upstream does with MemoryQoS', (row) => {
  for (const { pod, factor, memoryReservationPolicy, allocatableMemoryBytes, unified } of vectors.containers) {
    row(`${pod.metadata.name} ${factor} ${memoryReservationPolicy}`, () => {
      const settings = { memoryReservationPolicy, memoryThrottlingFactor: factor };
      const resources = pod.spec.containers[0]!.resources;
      const podHasLimit = hasPodLevelResources(pod.spec) && !isZeroQuantity(pod.spec.resources?.limits?.['memory']);
      const hasPodLimit = podHasLimit && isZeroQuantity(resources?.limits?.['memory']);
      const input = { qos: qosClass(pod), resources, settings, hasPodLimit, allocatableBytes: allocatableMemoryBytes };
      assert.deepEqual(computeMemoryQos(input), unified);
    });
  }
});

function assertProperties(resources: CgroupResources, properties: Properties): void {
  for (const version of [1, 2] as const) {
    const computed = toUnitProperties(resources, version, systemdVersion).map(([name, type, value]) => [name, type, String(value)]);
    assert.deepEqual(
      computed.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
      properties[`v${version}`],
    );
  }
}
