/** A feature gate as the generated table of gates has it (upstream: FeatureSpec in component-base/featuregate). */
export interface FeatureGateSpec {
  readonly name: string;
  readonly stage: 'Alpha' | 'Beta' | 'GA' | 'Deprecated';
  readonly default: boolean;
  /** Can only be set to its default. */
  readonly locked?: true;
  /** Gates that must be enabled before this one can be. */
  readonly dependsOn?: readonly string[];
}
