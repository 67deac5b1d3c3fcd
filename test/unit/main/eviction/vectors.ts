/** The expected values that upstream's own code has written (scripts/eviction-values). */
import { readFileSync } from 'node:fs';
import type { AllocatedPod } from '../../../../src/main/allocation/index.ts';
import type { EvictionSignal, NodeReclaim, PressureCondition, StarvedResource } from '../../../../src/shared/contracts/eviction.ts';
import type { NodeStats } from '../../../../src/main/eviction/observe.ts';
import type { PodStats } from '../../../../src/main/eviction/pod-stats.ts';
import type { FilesystemLayout, Threshold, ThresholdSettings, ThresholdValue } from '../../../../src/main/eviction/thresholds.ts';
import { canonicalQuantity } from '../../../../src/shared/kubernetes/quantity.ts';

interface Disks {
  readonly imageFs: boolean;
  readonly split: boolean;
}

interface Usages {
  readonly pods: readonly AllocatedPod[];
  /** By the pod's name. A pod without an entry has no known usage. */
  readonly stats: Readonly<Record<string, PodStats>>;
}

export type ThresholdRow = {
  readonly signal: EvictionSignal;
  readonly value: unknown;
  readonly gracePeriodMs: number;
  readonly minReclaim?: unknown;
};

export interface PassResult {
  readonly conditions: readonly PressureCondition[];
  readonly evictions: readonly {
    readonly pod: string;
    readonly gracePeriodSeconds: number;
    readonly reason: string;
    readonly message: string;
    readonly disruptionReason?: string;
    readonly disruptionMessage?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  }[];
  readonly reclaims: readonly NodeReclaim[];
  readonly nodeEvents: readonly string[];
  readonly rejections: readonly string[];
}

export interface PassStep {
  readonly advanceMs: number;
  readonly node: NodeStats;
  readonly afterReclaim?: NodeStats;
  readonly want: PassResult;
}

interface Rows {
  readonly defaults: { readonly file: string; readonly evictionHard: Readonly<Record<string, string>> };
  readonly parse: { readonly settings: ThresholdSettings; readonly thresholds: readonly ThresholdRow[]; readonly error?: string };
  readonly containerfs: Disks & { readonly settings: ThresholdSettings; readonly thresholds: readonly ThresholdRow[] };
  readonly quantity: { readonly value: string; readonly capacity: number; readonly quantity: string };
  readonly rank: Disks & Usages & { readonly signal: EvictionSignal; readonly ranked: readonly string[] };
  readonly message: {
    readonly resource: StarvedResource;
    readonly settings: ThresholdSettings;
    readonly node: NodeStats;
    readonly observations: Readonly<Record<string, { readonly available: number; readonly capacity: number; readonly atMs: number }>>;
    readonly pod: AllocatedPod;
    readonly stats: PodStats | null;
    readonly message: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly passes: Disks &
    Usages & {
      readonly settings: ThresholdSettings;
      readonly pressureTransitionPeriodMs: number;
      readonly maxPodGracePeriodSeconds: number;
      readonly localStorageCapacityIsolation: boolean;
      readonly startMs: number;
      readonly admitted: readonly AllocatedPod[];
      readonly steps: readonly PassStep[];
    };
}

const lines = readFileSync(new URL('eviction-vectors.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { readonly kind: string; readonly row: unknown });

export function rowsOf<Kind extends keyof Rows>(kind: Kind): Rows[Kind][] {
  return lines.filter((line) => line.kind === kind).map(({ row }) => row as Rows[Kind]);
}

export function settingsOf(settings: ThresholdSettings): ThresholdSettings {
  const list = (entries: Readonly<Record<string, string>> | null) => entries ?? {};
  return {
    enforceNodeAllocatable: settings.enforceNodeAllocatable ?? [],
    evictionHard: list(settings.evictionHard),
    evictionSoft: list(settings.evictionSoft),
    evictionSoftGracePeriod: list(settings.evictionSoftGracePeriod),
    evictionMinimumReclaim: list(settings.evictionMinimumReclaim),
  };
}

export function layoutOf({ imageFs, split }: Disks): FilesystemLayout {
  return { dedicatedImageFs: imageFs, splitContainerFs: split };
}

/** As the vectors have them: sorted, because upstream's order is random. */
export function toRows(thresholds: readonly Threshold[]): ThresholdRow[] {
  return thresholds
    .map(({ signal, value, gracePeriodMs, minReclaim }) => ({
      signal,
      value: toValueRow(value),
      gracePeriodMs,
      ...(minReclaim && { minReclaim: toValueRow(minReclaim) }),
    }))
    .toSorted((a, b) => (a.signal === b.signal ? a.gracePeriodMs - b.gracePeriodMs : a.signal < b.signal ? -1 : 1));
}

function toValueRow(value: ThresholdValue): unknown {
  return 'quantity' in value ? { quantity: canonicalQuantity(value.text) } : { percentage: value.share };
}
