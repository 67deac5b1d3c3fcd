/**
 * Whether the configuration as a whole can be used: every rule between fields, gates and the host. Types and unknown fields were
 * checked while reading (read-config-file.ts). Called once, before anything starts.
 */
import { checkFixedValues } from './fixed-values.ts';
import { checkEviction } from './eviction.ts';
import { checkGatedFields } from './gated-fields.ts';
import { checkHost } from './host-rules.ts';
import { checkNumericRanges } from './numeric-ranges.ts';
import { checkObservability } from './observability.ts';
import { checkPolicyOptions } from './policy-options.ts';
import { checkResources } from './resources.ts';
import type { ValidationInput, ValidationRule } from './rules.ts';
import { checkTaints } from './taints.ts';

export type { ValidatedHost } from './rules.ts';

const groups: readonly ValidationRule[] = [
  checkNumericRanges,
  checkGatedFields,
  checkTaints,
  checkFixedValues,
  checkResources,
  checkEviction,
  checkPolicyOptions,
  checkHost,
  checkObservability,
];

/** Every complaint, in the order of the groups; none: the configuration is valid. */
export function validateConfiguration(input: ValidationInput): string[] {
  return groups.flatMap((check) => check(input));
}
