/**
 * Validates the effective configuration: the rules between fields, feature gates and the host. read-config-file.ts checks types and unknown
 * fields. Called before any part of the kubelet starts, and for each reload.
 */
import { checkFixedValues } from './fixed-values.ts';
import { checkEviction } from './eviction.ts';
import { checkGatedFields } from './gated-fields.ts';
import { checkHost } from './host-rules.ts';
import { checkNumericRanges } from './numeric-ranges.ts';
import { checkObservability } from './observability.ts';
import { checkPolicyOptions } from './policy-options.ts';
import { checkReservedResources } from './reserved-resources.ts';
import type { ValidationInput, ValidationRule } from './rules.ts';
import { checkRegisterWithTaints } from './register-with-taints.ts';

export type { ValidatedHost } from './rules.ts';

const groups: readonly ValidationRule[] = [
  checkNumericRanges,
  checkGatedFields,
  checkRegisterWithTaints,
  checkFixedValues,
  checkReservedResources,
  checkEviction,
  checkPolicyOptions,
  checkHost,
  checkObservability,
];

/** Returns one message per problem. Empty: the configuration is valid. */
export function validateConfiguration(input: ValidationInput): string[] {
  return groups.flatMap((check) => check(input));
}
