/** Resolves the propagation and the subPath of a volumeMount (upstream pkg/kubelet/kubelet_pods.go). Pure. */
import { MountPropagation } from '../../../../shared/cri/generated/cri-v1.ts';
import type { VolumeMount } from '../../../../shared/kubernetes/api.ts';
import { expand } from '../../../../shared/kubernetes/expansion.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';

/** Throws an Error when the mode is invalid. */
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

/** Linux's PATH_MAX. */
const maxPath = 4096;

type Env = readonly { readonly name: string; readonly value: string }[];

/** Returns the expanded subPath; empty for the whole volume. Throws an Error when it could lead out of the volume, or a variable is missing. */
export function resolveSubPath({ subPath = '', subPathExpr }: VolumeMount, env: Env): string {
  const path = subPathExpr ? expandSubPath(subPathExpr, env) : subPath;
  if (path.length > maxPath) throw new Error(`SubPath of ${path.length} characters: no path has more than ${maxPath}`);
  if (path.startsWith('/')) throw new Error(`error SubPath \`${path}\` must not be an absolute path`);
  if (path.split('/').includes('..')) throw new Error(`unable to provision SubPath \`${path}\`: must not contain '..'`);
  return path;
}

/** Caches the variables of an environment by name: a container may have thousands of mounts that use them, and thousands of variables. */
const valuesByEnv = new WeakMap<Env, ReadonlyMap<string, string>>();

function valuesOf(env: Env): ReadonlyMap<string, string> {
  const values = valuesByEnv.get(env) ?? new Map(env.map(({ name, value }) => [name, value]));
  valuesByEnv.set(env, values);
  return values;
}

/** An empty value counts as missing: with it, two pods would share the volume's root. */
function expandSubPath(expression: string, env: Env): string {
  const values = valuesOf(env);
  const missing = new Set<string>();
  const path = expand(expression, (name) => {
    const value = values.get(name) ?? '';
    if (value === '') missing.add(name);
    return value;
  });
  if (missing.size > 0) throw new Error(`missing value for ${[...missing].sort().join(', ')}`);
  return path;
}
