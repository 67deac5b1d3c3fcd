/** Which optional behaviour is on. */
export interface FeatureGates {
  /** Throws on a name that v1.36 does not know: that is a mistake in the code that asks. */
  enabled(name: string): boolean;
  /** Every known gate with its stage, in order of name: for the metric kubernetes_feature_enabled. */
  all(): readonly { readonly name: string; readonly stage: string; readonly enabled: boolean }[];
}
