/**
 * A manifest's pod as upstream's internal `core.Pod`, which is what the UID is a hash of: decoded, defaulted and converted (upstream
 * pkg/apis/core/v1/conversion.go).
 */
import type { Draft, Pod } from '../../kubernetes/api.ts';
import { defaultResources } from './default-resources.ts';
import type { GoStruct, GoValue } from './go-type.ts';
import { toGoValue } from './to-go-value.ts';

type Fields = Readonly<Record<string, unknown>>;

/** `document` is the pod as the manifest has it; `pod` is the same after its defaults, before anything that makes it static. */
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

/** The internal API has them in the security context, and has always one. */
function withHostNamespaces(spec: Readonly<object>): Fields {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers, securityContext } = spec as Fields;
  const namespaces = { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers };
  return { ...spec, securityContext: { ...fieldsOf(securityContext), ...namespaces } };
}

/** Where init containers stood before they had a field. */
const initContainerAnnotations = ['beta', 'alpha'].flatMap((stage) => [
  `pod.${stage}.kubernetes.io/init-containers`,
  `pod.${stage}.kubernetes.io/init-container-statuses`,
]);

function dropInitContainerAnnotations({ Annotations }: GoStruct): void {
  if (!(Annotations instanceof Map)) return;
  for (const name of initContainerAnnotations) Annotations.delete(name);
}

/** A status that a manifest brings along counts for the hash, and for nothing else. Its `podIP` wins over the list. */
function setPodIPs({ Status }: GoStruct, { podIP }: Fields): void {
  const status = Status as GoStruct | undefined;
  if (!status || typeof podIP !== 'string' || podIP === '') return;
  const [first] = (status['PodIPs'] ?? []) as readonly GoStruct[];
  if (first?.['IP'] !== podIP) status['PodIPs'] = [{ IP: podIP }] satisfies GoValue;
}

function fieldsOf(given: unknown): Fields {
  return typeof given === 'object' && given !== null && !Array.isArray(given) ? (given as Fields) : {};
}
