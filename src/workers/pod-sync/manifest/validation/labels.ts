/** Validates labels and label selectors (upstream apimachinery meta/v1/validation). */
import type { LabelSelector } from '../../../../shared/kubernetes/api.ts';
import { labelValueErrors } from '../../../../shared/kubernetes/names.ts';
import { checkLabelKey, checkName } from './checks.ts';
import { forbidden, invalid, required } from '../../../../shared/kubernetes/field-error.ts';

export function validateLabels(labels: Readonly<Record<string, string>> | undefined, path: string, errors: string[]): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    checkLabelKey(key, path, errors);
    checkName(value, path, labelValueErrors, errors);
  }
}

export function validateLabelSelector(selector: LabelSelector | undefined, path: string, errors: string[]): void {
  validateLabels(selector?.matchLabels, `${path}.matchLabels`, errors);
  for (const [index, requirement] of (selector?.matchExpressions ?? []).entries()) {
    const requirementPath = `${path}.matchExpressions[${index}]`;
    validateOperator(requirement, requirementPath, errors);
    checkLabelKey(requirement.key, `${requirementPath}.key`, errors);
    for (const [valueIndex, value] of (requirement.values ?? []).entries())
      checkName(value, `${requirementPath}.values[${valueIndex}]`, labelValueErrors, errors);
  }
}

export interface SelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | undefined;
}

/** The operators that label selectors and node selectors share. */
export function validateOperator({ operator, values = [] }: SelectorRequirement, path: string, errors: string[]): void {
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) errors.push(required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) {
        errors.push(forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
      }
      break;
    default:
      errors.push(invalid(`${path}.operator`, operator, 'not a valid selector operator'));
  }
}
