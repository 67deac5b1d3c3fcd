/**
 * Whether the configuration as a whole can be used: every rule between fields, gates and the host. Types and unknown fields were
 * checked while reading (read-config-file.ts). Called once, before anything starts.
 */
import { checkChoices } from './fixed-values.ts';
import { checkEviction } from './eviction.ts';
import { checkGatedFields } from './gated-fields.ts';
import { checkHost } from './host-rules.ts';
import { checkNumbers } from './numeric-ranges.ts';
import { checkObserving } from './observability.ts';
import { checkPolicyOptions } from './policy-options.ts';
import { checkResources } from './resources.ts';
import type { RuleInput, Rules } from './rules.ts';
import { checkTaints } from './taints.ts';

export type { HostFacts } from './rules.ts';

const groups: readonly Rules[] = [
  checkNumbers,
  checkGatedFields,
  checkTaints,
  checkChoices,
  checkResources,
  checkEviction,
  checkPolicyOptions,
  checkHost,
  checkObserving,
];

/** Every complaint, in the order of the groups; none: the configuration is valid. */
export function validateConfiguration(input: RuleInput): string[] {
  return groups.flatMap((check) => check(input));
}
