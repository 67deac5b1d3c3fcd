/** Pods with one large field: the field's neighbours have small values that the API server takes. Pure. */
import { largeText, type GrowingField } from './fields.ts';

type Value = string | number | boolean | Tree | readonly Value[];
interface Tree {
  readonly [name: string]: Value;
}

/** What the API server demands beside a field, by the path of the object that has the field; `#` is the number of the element. */
const neighbours: Readonly<Record<string, Tree>> = {
  'metadata.ownerReferences[]': { apiVersion: 'v1', kind: 'Pod', name: 'owner', uid: 'u#' },
  'spec.volumes[]': { name: 'v#' },
  'spec.volumes[].hostPath': { path: '/tmp' },
  'spec.volumes[].secret': { secretName: 's', optional: true },
  'spec.volumes[].configMap': { name: 'c', optional: true },
  'spec.volumes[].nfs': { server: 'localhost', path: '/' },
  'spec.volumes[].persistentVolumeClaim': { claimName: 'c' },
  'spec.volumes[].csi': { driver: 'driver.example' },
  'spec.volumes[].image': { reference: 'image.invalid/x', pullPolicy: 'Never' },
  'spec.volumes[].downwardAPI.items[]': { path: 'p#', fieldRef: { fieldPath: 'metadata.name' } },
  'spec.volumes[].projected.sources[].downwardAPI.items[]': { path: 'p#', fieldRef: { fieldPath: 'metadata.name' } },
  'spec.volumes[].projected.sources[].serviceAccountToken': { path: 'token' },
  'spec.volumes[].projected.sources[].secret': { name: 's', optional: true },
  'spec.volumes[].projected.sources[].configMap': { name: 'c', optional: true },
  'spec.volumes[].secret.items[]': { key: 'k', path: 'p#' },
  'spec.volumes[].configMap.items[]': { key: 'k', path: 'p#' },
  'spec.containers[]': { name: 'c#', image: 'image.invalid/x', imagePullPolicy: 'Never' },
  'spec.initContainers[]': { name: 'i#', image: 'image.invalid/x', imagePullPolicy: 'Never' },
  'spec.containers[].env[]': { name: 'E#' },
  'spec.containers[].envFrom[].configMapRef': { name: 'c', optional: true },
  'spec.containers[].envFrom[].secretRef': { name: 's', optional: true },
  'spec.containers[].ports[]': { containerPort: 1 },
  'spec.containers[].volumeMounts[]': { name: 'shared', mountPath: '/m#' },
  'spec.tolerations[]': { key: 'k#', operator: 'Exists' },
  'spec.hostAliases[]': { ip: '127.0.0.1' },
  'spec.imagePullSecrets[]': { name: 's#' },
  'spec.readinessGates[]': { conditionType: 'example.com/g#' },
  'spec.dnsConfig.options[]': { name: 'o#' },
  'spec.securityContext.sysctls[]': { name: 'kernel.shm_rmid_forced', value: '0' },
};
const handlers = ['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle.postStart', 'lifecycle.preStop'];
const handlerNeighbours: Tree = { httpGet: { port: 1 }, tcpSocket: { port: 1 }, grpc: { port: 1 } };

/** Returns the pod's manifest with about `bytes` in the field. */
export function podWithLargeField(
  name: string,
  nodeName: string,
  { path, elements }: GrowingField,
  bytes: number,
  character: string,
): object {
  const make = (outer: readonly string[]): Value =>
    elements ? elementsAt(outer, Math.max(1, Math.floor(bytes / elementBytes)), elements) : largeText(bytes, character);
  const grown = grow([], path, make) as { readonly metadata?: Tree; readonly spec?: Tree };
  const spec: Tree = { containers: [{ name: 'c0', image: 'image.invalid/x', imagePullPolicy: 'Never' }], ...grown.spec };
  const mountsShared = path.join('.').startsWith('spec.containers.[].volumeMounts');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...grown.metadata, name },
    spec: { ...spec, nodeName, terminationGracePeriodSeconds: 1, ...(mountsShared && { volumes: [{ name: 'shared', emptyDir: {} }] }) },
  };
}

/** What an element takes at least, with what is between elements. */
const elementBytes = 16;

/** Returns the value at the end of `outer`, inside of which the rest of the path is. */
function grow(outer: readonly string[], [name, ...rest]: readonly string[], make: (path: readonly string[]) => Value): Value {
  if (name === undefined) return make(outer);
  const inner = grow([...outer, name], rest, make);
  if (name === '[]') return [inner];
  if (name === '{}') return { 'example.com/k': inner };
  return { ...neighboursAt(outer, 0), [name]: inner };
}

function elementsAt(path: readonly string[], count: number, { of, kind }: NonNullable<GrowingField['elements']>): Value {
  const indexes = Array.from({ length: count }, (_, index) => index);
  if (of === 'map') return Object.fromEntries(indexes.map((index) => [`example.com/k${index}`, kind === 'quantity' ? '1' : 'x']));
  return indexes.map((index) => {
    if (kind === 'struct') return neighboursAt([...path, '[]'], index);
    return kind === 'int32' || kind === 'int64' ? index : `x${index}`;
  });
}

function neighboursAt(path: readonly string[], index: number): Tree {
  const key = path.join('.').replaceAll('.[]', '[]');
  const handler = handlers.find((name) => key.includes(`.${name}.`));
  const found = neighbours[key] ?? (handler === undefined ? undefined : (handlerNeighbours[path.at(-1) ?? ''] as Tree | undefined)) ?? {};
  return Object.fromEntries(
    Object.entries(found).map(([name, value]) => [name, typeof value === 'string' ? value.replace('#', String(index)) : value]),
  );
}
