/** Pods with one large field: its neighbours have small values that the API server takes, and the kubelet uses the field. Pure. */
import { largeText, type GrowingField } from './fields.ts';
import { formatted, neighboursOf, type Tree, type Value } from './neighbours.ts';

/** Returns the pod's manifest with about `bytes` in the field. */
export function podWithLargeField(
  name: string,
  nodeName: string,
  { path, elements }: GrowingField,
  bytes: number,
  character: string,
): object {
  const make = (outer: readonly string[]): Value =>
    elements ? elementsAt(outer, Math.max(1, Math.floor(bytes / elementBytes)), elements) : formatted(path, largeText(bytes, character));
  const grown = grow([], path, make) as { readonly metadata?: Tree; readonly spec?: Tree };
  const spec: Tree = { containers: [neighboursOf(['spec', 'containers', '[]'], '', 0)], ...grown.spec };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...grown.metadata, name },
    spec: { ...withUsedObjects(spec, path), nodeName, terminationGracePeriodSeconds: 1 },
  };
}

/** Adds what the field refers to, or what refers to it: the kubelet ignores a volume that no container mounts. */
function withUsedObjects(spec: Tree, path: readonly string[]): Tree {
  if (path[1] === 'volumes') {
    const volumeMounts = (spec['volumes'] as readonly Tree[]).map(({ name }, index) => ({ name: name as string, mountPath: `/m${index}` }));
    const containers = (spec['containers'] as readonly Tree[]).map((container) => ({ ...container, volumeMounts }));
    return { ...spec, containers };
  }
  if (path.includes('volumeMounts') || path.includes('fileKeyRef')) return { ...spec, volumes: [{ name: 'v0', emptyDir: {} }] };
  if (path.includes('volumeDevices')) return { ...spec, volumes: [{ name: 'v0', persistentVolumeClaim: { claimName: 'c' } }] };
  if (path.includes('claims')) return { ...spec, resourceClaims: [{ name: 'r0', resourceClaimName: 'c' }] };
  return spec;
}

/** What an element takes at least, with what is between elements. */
const elementBytes = 16;

/** Returns the value at the end of `outer`, inside of which the rest of the path is. */
function grow(outer: readonly string[], [name, ...rest]: readonly string[], make: (path: readonly string[]) => Value): Value {
  if (name === undefined) return make(outer);
  const inner = grow([...outer, name], rest, make);
  if (name === '[]') return [inner];
  if (name === '{}') return { 'example.com/k': inner };
  return { ...neighboursOf(outer, name, 0), [name]: inner };
}

/** A thousand containers are no test of the kubelet: they do not start. */
const manyContainers = { image: 'image.invalid/x' };

function elementsAt(path: readonly string[], count: number, { of, kind }: NonNullable<GrowingField['elements']>): Value {
  const indexes = Array.from({ length: count }, (_, index) => index);
  if (of === 'map') return Object.fromEntries(indexes.map((index) => [`example.com/k${index}`, kind === 'quantity' ? '1' : 'x']));
  const element = [...path, '[]'];
  return indexes.map((index) => {
    if (kind === 'struct') return { ...neighboursOf(element, '', index), ...(path.at(-1)?.endsWith('ontainers') && manyContainers) };
    return kind === 'int32' || kind === 'int64' ? index : formatted(element, `x${index}`);
  });
}
