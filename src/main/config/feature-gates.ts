/**
 * Computes which feature gates are enabled (upstream: component-base/featuregate, at one version). Settings are checked against the table of
 * known gates. `AllAlpha` and `AllBeta` set every gate of their stage that is not set by name.
 */
import { kubernetesVersion } from '../../shared/kubernetes/version.ts';
import type { FeatureGateSpec } from './feature-gate-spec.ts';
import { featureGateTable } from './generated/feature-gate-table.ts';

export interface FeatureGates {
  /** Throws for a name that upstream does not know, which is a bug in the caller. */
  enabled(name: string): boolean;
  /** Returns every known gate, sorted by name. For the metric kubernetes_feature_enabled. */
  all(): readonly { readonly name: string; readonly stage: string; readonly enabled: boolean }[];
}

export interface FeatureGateResult {
  readonly gates: FeatureGates;
  /** One sentence each. If not empty, the kubelet must not start. */
  readonly errors: readonly string[];
  /** One for each explicitly set gate that a future release removes. */
  readonly warnings: readonly FeatureGateWarning[];
}

export interface FeatureGateWarning {
  readonly message: string;
  readonly featureGate: string;
  readonly value: boolean;
}

const allStages: Readonly<Record<string, FeatureGateSpec['stage']>> = { AllAlpha: 'Alpha', AllBeta: 'Beta' };
const knownGates: ReadonlyMap<string, FeatureGateSpec> = new Map(featureGateTable.map((spec) => [spec.name, spec]));

/** Computes the value of every gate from the explicit settings. */
export function computeFeatureGates(set: Readonly<Record<string, boolean>>): FeatureGateResult {
  const errors: string[] = [];
  const warnings: FeatureGateWarning[] = [];
  const explicit = new Map<string, boolean>();
  for (const [name, value] of Object.entries(set)) {
    const spec = knownGates.get(name);
    if (Object.hasOwn(allStages, name)) continue;
    if (!spec) {
      errors.push(`unrecognized feature gate: ${name}`);
    } else if (spec.locked && spec.default !== value) {
      errors.push(`cannot set feature gate ${name} to ${value}, feature is locked to ${spec.default}`);
    } else {
      explicit.set(name, value);
      const stage = spec.stage === 'GA' ? 'GA' : 'deprecated';
      const willBeRemoved = spec.stage === 'GA' || spec.stage === 'Deprecated';
      if (willBeRemoved) {
        warnings.push({ message: `setting ${stage} feature gate. It will be removed in a future release.`, featureGate: name, value });
      }
    }
  }
  const enabled = new Map(featureGateTable.map((spec) => [spec.name, explicit.get(spec.name) ?? byStage(spec, set)]));
  if (errors.length === 0) errors.push(...brokenDependencies(enabled));
  return { gates: toFeatureGates(enabled, set), errors, warnings };
}

function byStage(spec: FeatureGateSpec, set: Readonly<Record<string, boolean>>): boolean {
  if (spec.stage === 'Alpha') return set['AllAlpha'] ?? spec.default;
  if (spec.stage === 'Beta') return set['AllBeta'] ?? spec.default;
  return spec.default;
}

function brokenDependencies(enabled: ReadonlyMap<string, boolean>): string[] {
  return featureGateTable.flatMap(({ name, dependsOn = [] }) => {
    if (enabled.get(name) !== true) return [];
    const disabled = dependsOn.filter((dependency) => enabled.get(dependency) !== true);
    return disabled.length === 0 ? [] : [`${name} is enabled, but depends on features that are disabled: [${disabled.join(' ')}]`];
  });
}

function toFeatureGates(values: ReadonlyMap<string, boolean>, set: Readonly<Record<string, boolean>>): FeatureGates {
  return {
    enabled: (name) => {
      const value = values.get(name);
      if (value === undefined) throw new Error(`feature gate ${name} is not known to Kubernetes ${kubernetesVersion}`);
      return value;
    },
    all: () => [
      ...Object.entries(allStages).map(([name, stage]) => ({ name, stage, enabled: set[name] === true })),
      ...featureGateTable.map(({ name, stage }) => ({ name, stage, enabled: values.get(name) === true })),
    ],
  };
}
