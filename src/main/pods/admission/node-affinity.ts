/**
 * Decides whether a node matches a pod's nodeSelector and required node affinity. Pure. Upstream:
 * component-helpers scheduling/corev1/nodeaffinity and apimachinery pkg/labels.
 */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { AdmissionNode } from './admit-handler.ts';

type NodeAffinity = NonNullable<NonNullable<Pod['spec']['affinity']>['nodeAffinity']>;
type Term = NonNullable<NodeAffinity['requiredDuringSchedulingIgnoredDuringExecution']>['nodeSelectorTerms'][number];
type Requirement = NonNullable<Term['matchExpressions']>[number];
type Labels = Readonly<Record<string, string>>;

export function matchesNode({ spec: { nodeSelector, affinity } }: Pod, { metadata }: AdmissionNode): boolean {
  const labels = metadata.labels ?? {};
  const isSelected = Object.entries(nodeSelector ?? {}).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
  if (!isSelected) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!required) return true;
  const fields = { 'metadata.name': metadata.name };
  return required.nodeSelectorTerms.some((term) => matchesTerm(term, labels, fields));
}

/** An empty or invalid term matches no node. */
function matchesTerm({ matchExpressions = [], matchFields = [] }: Term, labels: Labels, fields: Labels): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => matchesLabel(requirement, labels)) &&
    matchFields.every((requirement) => matchesField(requirement, fields))
  );
}

function matchesLabel({ key, operator, values = [] }: Requirement, labels: Labels): boolean {
  const labelValue = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return labelValue !== undefined && values.includes(labelValue);
    case 'NotIn':
      return values.length > 0 && (labelValue === undefined || !values.includes(labelValue));
    case 'Exists':
      return values.length === 0 && labelValue !== undefined;
    case 'DoesNotExist':
      return values.length === 0 && labelValue === undefined;
    case 'Gt':
    case 'Lt':
      return values.length === 1 && compareInt64(labelValue, operator, values[0]);
    default:
      return false;
  }
}

/** Compares 64-bit integers; false when a value is not one. */
export function compareInt64(labelValue: string | undefined, operator: 'Gt' | 'Lt', bound: string | undefined): boolean {
  const [a, b] = [toInt64(labelValue), toInt64(bound)];
  if (a === undefined || b === undefined) return false;
  return operator === 'Gt' ? a > b : a < b;
}

function toInt64(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?\d{1,19}$/.test(text)) return undefined;
  const number = BigInt(text.replace(/^\+/, ''));
  return BigInt.asIntN(64, number) === number ? number : undefined;
}

/** For fields the API allows the operators In and NotIn with one value. */
function matchesField({ key, operator, values = [] }: Requirement, fields: Labels): boolean {
  if (values.length !== 1 || (operator !== 'In' && operator !== 'NotIn')) return false;
  return ((fields[key] ?? '') === values[0]) === (operator === 'In');
}
