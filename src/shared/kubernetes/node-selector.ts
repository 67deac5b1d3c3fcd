/**
 * Decides whether a node's labels match terms of a node selector: of a pod's affinity, or of a persistent volume. Pure. Upstream: component-helpers
 * scheduling/corev1/nodeaffinity.
 */
import type { Pod } from './api.ts';

type NodeAffinity = NonNullable<NonNullable<Pod['spec']['affinity']>['nodeAffinity']>;
export type NodeSelector = NonNullable<NodeAffinity['requiredDuringSchedulingIgnoredDuringExecution']>;
type Term = NodeSelector['nodeSelectorTerms'][number];
type Requirement = NonNullable<Term['matchExpressions']>[number];
type Labels = Readonly<Record<string, string>>;

/** @param fields of the node, such as `metadata.name` */
export function matchesNodeSelector({ nodeSelectorTerms }: NodeSelector, labels: Labels, fields: Labels): boolean {
  return nodeSelectorTerms.some((term) => matchesTerm(term, labels, fields));
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

/** Compares 64-bit integers. False when one of the two is not a 64-bit integer. */
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
