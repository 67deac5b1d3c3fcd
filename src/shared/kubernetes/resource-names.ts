/** Classifies resource names. Pure. Upstream: pkg/apis/core/v1/helper. */
import { labelKeyErrors } from './names.ts';

export function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}

/** True for resources of device plugins and operators, whose domain is not one of Kubernetes. */
export function isExtendedResource(name: string): boolean {
  if (!name.includes('/') || name.includes('kubernetes.io/') || name.startsWith('requests.')) return false;
  // The quota name `requests.<name>` must be a valid label key.
  return labelKeyErrors(`requests.${name}`).length === 0;
}
