/** Validates topology spread constraints, and the matchLabelKeys of constraints and pod affinity. */
import type { LabelSelector, PodSpec } from '../../../../shared/kubernetes/api.ts';
import type { ManifestGates } from '../manifest-gates.ts';
import { checkLabelKey, checkPositive, checkSupported } from './checks.ts';
import { duplicate, forbidden, invalid, required } from '../../../../shared/kubernetes/field-error.ts';
import { validateLabelSelector } from './labels.ts';

type Constraint = NonNullable<PodSpec['topologySpreadConstraints']>[number];

export function validateTopologySpread(constraints: readonly Constraint[], gates: ManifestGates, path: string, errors: string[]): void {
  const merged = gates.MatchLabelKeysInPodTopologySpread && gates.MatchLabelKeysInPodTopologySpreadSelectorMerge;
  const checkKeys = merged ? validateMatchLabelKeys : validateUnmergedLabelKeys;
  const seen = new Set<string>();
  for (const [index, constraint] of constraints.entries()) {
    const constraintPath = `${path}[${index}]`;
    validateConstraint(constraint, constraintPath, seen, errors);
    checkKeys(constraint, constraintPath, errors);
    validateLabelSelector(constraint.labelSelector, `${constraintPath}.labelSelector`, errors);
  }
}

/** `seen` holds topology key and action of the preceding constraints. */
function validateConstraint(constraint: Constraint, path: string, seen: Set<string>, errors: string[]): void {
  const { maxSkew, topologyKey, whenUnsatisfiable, minDomains, nodeAffinityPolicy, nodeTaintsPolicy } = constraint;
  checkPositive(maxSkew, `${path}.maxSkew`, errors);
  if (!topologyKey) errors.push(required(`${path}.topologyKey`, 'can not be empty'));
  checkSupported(whenUnsatisfiable, `${path}.whenUnsatisfiable`, ['DoNotSchedule', 'ScheduleAnyway'], errors);
  const spread = `{${topologyKey}, ${whenUnsatisfiable}}`;
  if (seen.has(spread)) errors.push(duplicate(`${path}.{topologyKey, whenUnsatisfiable}`, spread));
  seen.add(spread);
  if (minDomains !== undefined) {
    checkPositive(minDomains, `${path}.minDomains`, errors);
    if (whenUnsatisfiable !== 'DoNotSchedule') {
      const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
      errors.push(invalid(`${path}.minDomains`, minDomains, detail));
    }
  }
  checkSupported(nodeAffinityPolicy, `${path}.nodeAffinityPolicy`, ['Ignore', 'Honor'], errors);
  checkSupported(nodeTaintsPolicy, `${path}.nodeTaintsPolicy`, ['Ignore', 'Honor'], errors);
}

interface LabelKeys {
  readonly matchLabelKeys?: readonly string[] | undefined;
  readonly mismatchLabelKeys?: readonly string[] | undefined;
  readonly labelSelector?: LabelSelector | undefined;
}

/** A key may occur once: in one of the two lists, or in the selector. An API server merges the lists into the selector. */
export function validateMatchLabelKeys(from: LabelKeys, path: string, errors: string[]): void {
  const { matchLabelKeys = [], mismatchLabelKeys = [], labelSelector } = from;
  for (const [field, keys] of Object.entries({ matchLabelKeys, mismatchLabelKeys })) {
    if (keys.length === 0) continue;
    if (!labelSelector) errors.push(forbidden(`${path}.${field}`, 'must not be specified when labelSelector is not set'));
    else for (const [index, key] of keys.entries()) checkLabelKey(key, `${path}.${field}[${index}]`, errors);
  }
  const indexes = new Map(matchLabelKeys.map((key, index) => [key, index]));
  const mismatching = new Set(mismatchLabelKeys);
  // A key that occurs once in the selector may result from the merge. A key that occurs twice cannot.
  const inSelector = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const index = indexes.get(key);
    if (index !== undefined && inSelector.has(key)) {
      errors.push(invalid(`${path}[${index}]`, key, 'exists in both matchLabelKeys and labelSelector'));
    }
    inSelector.add(key);
  }
  for (const [index, key] of matchLabelKeys.entries()) {
    if (!mismatching.has(key)) continue;
    errors.push(invalid(`${path}.matchLabelKeys[${index}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys'));
  }
}

/** Without the merge by an API server, no key may occur in the selector (upstream's rule before v1.34). */
function validateUnmergedLabelKeys({ matchLabelKeys = [], labelSelector }: LabelKeys, path: string, errors: string[]): void {
  const matchLabelKeysPath = `${path}.matchLabelKeys`;
  if (matchLabelKeys.length > 0 && !labelSelector)
    errors.push(forbidden(matchLabelKeysPath, 'must not be specified when labelSelector is not set'));
  const inSelector = new Set([
    ...Object.keys(labelSelector?.matchLabels ?? {}),
    ...(labelSelector?.matchExpressions ?? []).map(({ key }) => key),
  ]);
  for (const [index, key] of matchLabelKeys.entries()) {
    checkLabelKey(key, `${matchLabelKeysPath}[${index}]`, errors);
    if (inSelector.has(key))
      errors.push(invalid(`${matchLabelKeysPath}[${index}]`, key, 'exists in both matchLabelKeys and labelSelector'));
  }
}
