/** Which resources of a node are whose, by their names. Pure. Upstream: pkg/apis/core/v1/helper. */
import { labelKeyErrors } from '../../shared/kubernetes/names.ts';

export function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}

/** Of a device plugin, or advertised by an operator: with a domain that is not Kubernetes' own. */
export function isExtendedResource(name: string): boolean {
  if (!name.includes('/') || name.includes('kubernetes.io/') || name.startsWith('requests.')) return false;
  // Its quota is named after it, and must have a name that is one.
  return labelKeyErrors(`requests.${name}`).length === 0;
}
