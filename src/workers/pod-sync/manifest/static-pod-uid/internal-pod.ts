/**
 * Converts a manifest's pod to upstream's internal `core.Pod`, the input of the UID's hash: decoded, defaulted and converted (upstream
 * pkg/apis/core/v1).
 */
import type { Draft, Pod } from '../../../../shared/kubernetes/api.ts';
import { completesPodResources, type ManifestGates } from '../manifest-gates.ts';
import { defaultResources } from './default-resources.ts';
import type { GoStruct, GoValue } from './go-type.ts';
import { toGoValue } from './to-go-value.ts';

type Fields = Readonly<Record<string, unknown>>;

/** `document` is the pod in the manifest. `pod` is the same pod with defaults, before the changes that make it static. */
export function toInternalPod(document: unknown, pod: Draft<Pod>, gates: ManifestGates, inList: boolean): GoStruct {
  const given = fieldsOf(document);
  const spec = defaultResources(fieldsOf(given['spec']), completesPodResources(gates));
  const internal = toGoValue('core.Pod', { ...given, spec }, { metadata: pod.metadata, spec: pod.spec }) as GoStruct;
  // A pod that is decoded by itself loses its kind and apiVersion, an item of a list keeps what it has.
  if (inList) internal['TypeMeta'] = { Kind: textOf(given['kind']), APIVersion: textOf(given['apiVersion']) };
  setPodIPs(internal, fieldsOf(given['status']));
  return internal;
}

/** The status of a manifest affects only the hash. Each of `podIP` and `podIPs` is the default of the other; `podIP` takes precedence. */
function setPodIPs({ Status }: GoStruct, { podIP }: Fields): void {
  const status = Status as GoStruct | undefined;
  if (!status) return;
  const [first] = (status['PodIPs'] ?? []) as readonly GoStruct[];
  if (typeof podIP !== 'string' || podIP === '') {
    if (first) status['PodIP'] = first['IP'] ?? '';
  } else if (first?.['IP'] !== podIP) status['PodIPs'] = [{ IP: podIP }] satisfies GoValue;
}

function textOf(given: unknown): string {
  return typeof given === 'string' ? given : '';
}

function fieldsOf(given: unknown): Fields {
  return typeof given === 'object' && given !== null && !Array.isArray(given) ? (given as Fields) : {};
}
