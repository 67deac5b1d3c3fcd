/** Evaluates the API's label selectors (upstream metav1.LabelSelectorAsSelector). Pure. */
import type { LabelSelector } from '../../shared/kubernetes/api.ts';

type Labels = Readonly<Record<string, string>>;

/** An absent selector matches nothing, an empty one everything. Throws an Error on an invalid operator or missing values. */
export function labelMatcher(selector: LabelSelector | undefined): (labels: Labels | undefined) => boolean {
  if (!selector) return () => false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const checks = [
    ...Object.entries(matchLabels).map(
      ([key, value]) =>
        (labels: Labels) =>
          valueOf(labels, key) === value,
    ),
    ...matchExpressions.map(expressionCheck),
  ];
  return (labels = {}) => checks.every((check) => check(labels));
}

/** Stands for a label that the object does not have. No value of a label contains it. */
const absent = '\0';

type Expression = NonNullable<LabelSelector['matchExpressions']>[number];

function expressionCheck({ key, operator, values = [] }: Expression): (labels: Labels) => boolean {
  const needsValues = operator === 'In' || operator === 'NotIn';
  if (needsValues && values.length === 0)
    throw new Error(`values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty`);
  switch (operator) {
    case 'In':
      return (labels) => values.includes(valueOf(labels, key) ?? absent);
    case 'NotIn':
      return (labels) => !values.includes(valueOf(labels, key) ?? absent);
    case 'Exists':
      return (labels) => valueOf(labels, key) !== undefined;
    case 'DoesNotExist':
      return (labels) => valueOf(labels, key) === undefined;
    default:
      throw new Error(`${JSON.stringify(operator)} is not a valid label selector operator`);
  }
}

function valueOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
