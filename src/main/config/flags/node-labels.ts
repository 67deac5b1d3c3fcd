/** Validates the labels of --node-labels (upstream: ValidateKubeletFlags, well_known_labels.go). */
import type { StringMap } from '../kubelet-configuration.ts';
import { labelKeyErrors, labelValueErrors } from '../../../shared/kubernetes/names.ts';

const allowedLabels = [
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
];
const allowedNamespaces = ['kubelet.kubernetes.io', 'node.kubernetes.io'];

/** Returns one message per kind of problem. Empty: the labels are valid. */
export function checkNodeLabels(labels: StringMap): string[] {
  const foreign = Object.keys(labels).filter((key) => isKubernetesLabel(key) && !isAllowed(key));
  const describe = (text: string, errors: readonly string[]): string[] => (errors.length === 0 ? [] : [`'${text}' - ${errors.join(', ')}`]);
  const malformed = Object.entries(labels).flatMap(([key, value]) => [
    ...describe(key, labelKeyErrors(key)),
    ...describe(value, labelValueErrors(value)),
  ]);
  return [
    ...(foreign.length === 0
      ? []
      : [
          `unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [${foreign.sort().join(' ')}] ` +
            `(--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix (${allowedNamespaces.join(', ')}) ` +
            `or be in the specifically allowed set (${allowedLabels.join(', ')}))`,
        ]),
    ...(malformed.length === 0 ? [] : [`invalid node labels: ${malformed.join('; ')}`]),
  ];
}

function namespaceOf(key: string): string {
  return key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
}

function isWithin(namespace: string, domain: string): boolean {
  return namespace === domain || namespace.endsWith(`.${domain}`);
}

function isKubernetesLabel(key: string): boolean {
  return ['kubernetes.io', 'k8s.io'].some((domain) => isWithin(namespaceOf(key), domain));
}

function isAllowed(key: string): boolean {
  return allowedLabels.includes(key) || allowedNamespaces.some((domain) => isWithin(namespaceOf(key), domain));
}
