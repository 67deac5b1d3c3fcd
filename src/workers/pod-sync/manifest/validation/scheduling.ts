/** Validates affinity and tolerations. The scheduler uses them, and so does the node's admission. */
import type { PodSpec } from '../../../../shared/kubernetes/api.ts';
import { dns1123LabelErrors, dns1123SubdomainErrors, labelKeyErrors, labelValueErrors } from '../../../../shared/kubernetes/names.ts';
import { checkLabelKey, checkName, checkSupported } from './checks.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';
import type { ManifestGates } from '../manifest-gates.ts';
import { invalid, notSupported, required } from '../../../../shared/kubernetes/field-error.ts';
import { validateLabelSelector, validateOperator } from './labels.ts';
import { validateMatchLabelKeys } from './topology-spread.ts';

type Affinity = NonNullable<PodSpec['affinity']>;
type NodeAffinity = NonNullable<Affinity['nodeAffinity']>;
type PodAffinity = NonNullable<Affinity['podAffinity']>;
type NodeTerm = NonNullable<NodeAffinity['preferredDuringSchedulingIgnoredDuringExecution']>[number]['preference'];
type NodeRequirement = NonNullable<NodeTerm['matchExpressions']>[number];
type PodTerm = NonNullable<PodAffinity['requiredDuringSchedulingIgnoredDuringExecution']>[number];

export function validateAffinity(affinity: Affinity | undefined, path: string, errors: string[]): void {
  if (affinity?.nodeAffinity) validateNodeAffinity(affinity.nodeAffinity, `${path}.nodeAffinity`, errors);
  if (affinity?.podAffinity) validatePodAffinity(affinity.podAffinity, `${path}.podAffinity`, errors);
  if (affinity?.podAntiAffinity) validatePodAffinity(affinity.podAntiAffinity, `${path}.podAntiAffinity`, errors);
}

function validateNodeAffinity(affinity: NodeAffinity, path: string, errors: string[]): void {
  const { requiredDuringSchedulingIgnoredDuringExecution: needed, preferredDuringSchedulingIgnoredDuringExecution: preferred = [] } =
    affinity;
  if (needed) {
    const termsPath = `${path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;
    if (needed.nodeSelectorTerms.length === 0) errors.push(required(termsPath, 'must have at least one node selector term'));
    for (const [index, term] of needed.nodeSelectorTerms.entries()) validateNodeTerm(term, true, `${termsPath}[${index}]`, errors);
  }
  for (const [index, { weight, preference }] of preferred.entries()) {
    const termPath = `${path}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    validateWeight(weight, termPath, errors);
    validateNodeTerm(preference, false, `${termPath}.preference`, errors);
  }
}

function validateWeight(weight: number, path: string, errors: string[]): void {
  if (weight <= 0 || weight > 100) errors.push(invalid(`${path}.weight`, weight, 'must be in the range 1-100'));
}

function validateNodeTerm(term: NodeTerm, checkValues: boolean, path: string, errors: string[]): void {
  for (const [index, requirement] of (term.matchExpressions ?? []).entries()) {
    const requirementPath = `${path}.matchExpressions[${index}]`;
    validateNodeRequirement(requirement, requirementPath, errors);
    if (!checkValues) continue;
    for (const [valueIndex, value] of (requirement.values ?? []).entries())
      checkName(value, `${requirementPath}.values[${valueIndex}]`, labelValueErrors, errors);
  }
  for (const [index, requirement] of (term.matchFields ?? []).entries()) {
    validateFieldRequirement(requirement, `${path}.matchFields[${index}]`, errors);
  }
}

function validateNodeRequirement(requirement: NodeRequirement, path: string, errors: string[]): void {
  const { operator, values = [], key } = requirement;
  if (operator !== 'Gt' && operator !== 'Lt') validateOperator(requirement, path, errors);
  else if (values.length !== 1) {
    errors.push(required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
  }
  checkLabelKey(key, `${path}.key`, errors);
}

/** The node's name is the only field that a node selector supports. */
function validateFieldRequirement({ operator, key, values = [] }: NodeRequirement, path: string, errors: string[]): void {
  if (operator !== 'In' && operator !== 'NotIn') errors.push(invalid(`${path}.operator`, operator, 'not a valid selector operator'));
  else if (values.length !== 1) {
    const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    errors.push(required(`${path}.values`, detail));
  }
  if (key !== 'metadata.name') errors.push(invalid(`${path}.key`, key, 'not a valid field selector key'));
  else for (const [index, value] of values.entries()) checkName(value, `${path}.values[${index}]`, dns1123SubdomainErrors, errors);
}

function validatePodAffinity(affinity: PodAffinity, path: string, errors: string[]): void {
  const { requiredDuringSchedulingIgnoredDuringExecution: needed = [], preferredDuringSchedulingIgnoredDuringExecution: preferred = [] } =
    affinity;
  for (const [index, term] of needed.entries()) {
    validatePodTerm(term, `${path}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`, errors);
  }
  for (const [index, { weight, podAffinityTerm }] of preferred.entries()) {
    const termPath = `${path}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    validateWeight(weight, termPath, errors);
    validatePodTerm(podAffinityTerm, `${termPath}.podAffinityTerm`, errors);
  }
}

function validatePodTerm(term: PodTerm, path: string, errors: string[]): void {
  validateLabelSelector(term.labelSelector, `${path}.labelSelector`, errors);
  validateLabelSelector(term.namespaceSelector, `${path}.namespaceSelector`, errors);
  for (const namespace of term.namespaces ?? []) checkName(namespace, `${path}.namespace`, dns1123LabelErrors, errors);
  validateMatchLabelKeys(term, path, errors);
  if (!term.topologyKey) errors.push(required(`${path}.topologyKey`, 'can not be empty'));
  checkLabelKey(term.topologyKey, `${path}.topologyKey`, errors);
}

type Toleration = NonNullable<PodSpec['tolerations']>[number];

export function validateTolerations(tolerations: readonly Toleration[], gates: ManifestGates, path: string, errors: string[]): void {
  for (const [index, toleration] of tolerations.entries()) {
    const { key, operator = '', value = '', effect, tolerationSeconds } = toleration;
    const tolerationPath = `${path}[${index}]`;
    if (key) checkName(key, `${tolerationPath}.key`, labelKeyErrors, errors);
    else if (operator !== 'Exists') {
      const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      errors.push(invalid(`${tolerationPath}.operator`, operator, detail));
    }
    if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
      errors.push(invalid(`${tolerationPath}.effect`, effect ?? '', "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    validateTolerationValue(operator, value, gates.TaintTolerationComparisonOperators, tolerationPath, errors);
    checkSupported(effect, `${tolerationPath}.effect`, ['NoSchedule', 'PreferNoSchedule', 'NoExecute'], errors);
  }
}

function validateTolerationValue(operator: string, value: string, mayCompare: boolean, path: string, errors: string[]): void {
  const operatorPath = `${path}.operator`;
  if (operator === 'Equal' || operator === '') {
    const valueErrors = labelValueErrors(value);
    if (valueErrors.length > 0) errors.push(invalid(operatorPath, value, valueErrors.join(';')));
  } else if (operator === 'Exists') {
    if (value !== '') errors.push(invalid(operatorPath, value, "value must be empty when `operator` is 'Exists'"));
  } else if (operator !== 'Lt' && operator !== 'Gt') {
    errors.push(notSupported(operatorPath, operator, ['Equal', 'Exists']));
  } else if (!mayCompare) {
    errors.push(notSupported(operatorPath, operator, ['Equal', 'Exists', 'Lt', 'Gt']));
  } else if (!decimalInteger.test(value)) {
    const rule = value === '' ? 'must be non-empty' : 'must be a valid decimal integer in canonical form';
    errors.push(invalid(`${path}.value`, value, rule));
  } else if (BigInt.asIntN(64, BigInt(value)) !== BigInt(value)) {
    errors.push(invalid(`${path}.value`, value, `strconv.ParseInt: parsing ${goQuote(value)}: value out of range`));
  }
}

/** A plus sign and leading zeros are not allowed. */
const decimalInteger = /^(?:0|-?[1-9][0-9]*)$/;
