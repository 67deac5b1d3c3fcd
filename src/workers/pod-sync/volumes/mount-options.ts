/** How a volume is mounted into a container (upstream pkg/kubelet/kubelet_pods.go). Pure. */
import { MountPropagation } from '../../../shared/cri/generated/cri-v1.ts';
import type { VolumeMount } from '../../../shared/kubernetes/api.ts';
import { expand } from '../../../shared/kubernetes/expansion.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';

/** Throws an Error on a mode that is none. */
export function toMountPropagation(mode: string | undefined): MountPropagation {
  switch (mode) {
    case undefined:
    case 'None':
      return MountPropagation.PROPAGATION_PRIVATE;
    case 'HostToContainer':
      return MountPropagation.PROPAGATION_HOST_TO_CONTAINER;
    case 'Bidirectional':
      return MountPropagation.PROPAGATION_BIDIRECTIONAL;
    default:
      throw new Error(`invalid MountPropagation mode: ${goQuote(mode)}`);
  }
}

/** Linux' PATH_MAX. */
const maxPath = 4096;

type Env = readonly { readonly name: string; readonly value: string }[];

/** The subPath with its variables replaced; empty: all of the volume. Throws an Error when it could lead out, or a variable is missing. */
export function resolveSubPath({ subPath = '', subPathExpr }: VolumeMount, env: Env): string {
  const path = subPathExpr ? expandSubPath(subPathExpr, env) : subPath;
  if (path.length > maxPath) throw new Error(`SubPath of ${path.length} characters: no path has more than ${maxPath}`);
  if (path.startsWith('/')) throw new Error(`error SubPath \`${path}\` must not be an absolute path`);
  if (path.split('/').includes('..')) throw new Error(`unable to provision SubPath \`${path}\`: must not contain '..'`);
  return path;
}

/** An empty value counts as missing: two pods would share the volume's root. */
function expandSubPath(expression: string, env: Env): string {
  const values = new Map(env.map(({ name, value }) => [name, value]));
  const missing = new Set<string>();
  const path = expand(expression, (name) => {
    const value = values.get(name) ?? '';
    if (value === '') missing.add(name);
    return value;
  });
  if (missing.size > 0) throw new Error(`missing value for ${[...missing].sort().join(', ')}`);
  return path;
}
