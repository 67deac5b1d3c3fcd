/**
 * Converts a manifest's pod to upstream's internal `core.Pod`, the input of the UID's hash: decoded, defaulted and converted (upstream
 * pkg/apis/core/v1/conversion.go).
 */
import type { Draft, Pod } from '../../kubernetes/api.ts';
import { defaultResources } from './default-resources.ts';
import type { GoStruct, GoValue } from './go-type.ts';
import { toGoValue } from './to-go-value.ts';

type Fields = Readonly<Record<string, unknown>>;

/** `document` is the pod in the manifest. `pod` is the same pod with defaults, before the changes that make it static. */
export function toInternalPod(document: unknown, pod: Draft<Pod>): GoStruct {
  const given = fieldsOf(document);
  const spec = defaultResources(fieldsOf(given['spec']));
  const internal = toGoValue(
    'core.Pod',
    { ...given, spec: withHostNamespaces(spec) },
    { metadata: pod.metadata, spec: withHostNamespaces(pod.spec) },
  ) as GoStruct;
  dropInitContainerAnnotations(internal['ObjectMeta'] as GoStruct);
  setPodIPs(internal, fieldsOf(given['status']));
  return internal;
}

/** The internal API keeps these fields in the security context, which is never nil. */
function withHostNamespaces(spec: Readonly<object>): Fields {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers, securityContext } = spec as Fields;
  const namespaces = { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers };
  return { ...spec, securityContext: { ...fieldsOf(securityContext), ...namespaces } };
}

/** The annotations that held init containers before the field existed. */
const initContainerAnnotations = ['beta', 'alpha'].flatMap((stage) => [
  `pod.${stage}.kubernetes.io/init-containers`,
  `pod.${stage}.kubernetes.io/init-container-statuses`,
]);

function dropInitContainerAnnotations({ Annotations }: GoStruct): void {
  if (!(Annotations instanceof Map)) return;
  for (const name of initContainerAnnotations) Annotations.delete(name);
}

/** The status of a manifest affects only the hash. Its `podIP` takes precedence over the list. */
function setPodIPs({ Status }: GoStruct, { podIP }: Fields): void {
  const status = Status as GoStruct | undefined;
  if (!status || typeof podIP !== 'string' || podIP === '') return;
  const [first] = (status['PodIPs'] ?? []) as readonly GoStruct[];
  if (first?.['IP'] !== podIP) status['PodIPs'] = [{ IP: podIP }] satisfies GoValue;
}

function fieldsOf(given: unknown): Fields {
  return typeof given === 'object' && given !== null && !Array.isArray(given) ? (given as Fields) : {};
}
