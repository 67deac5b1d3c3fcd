/** What main answered, as volumes take it. Pure. */
import type { ConfigMapObject, SecretObject, PodObject, PodObjectResult } from '../../../shared/contracts/pod-objects.ts';
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';

/**
 * The value. Throws KubeletError with main's reason and message. `what` is the volume, as in `secret volume conf`: it stands in the
 * message of a kubelet that has no API server.
 */
export function requirePodObject<K extends PodObject['kind']>(
  kind: K,
  result: PodObjectResult | undefined,
  what: string,
): Extract<PodObject, { kind: K }> {
  if (result?.outcome === 'value' && result.value.kind === kind) return result.value as Extract<PodObject, { kind: K }>;
  if (result?.outcome !== 'failed') throw new Error(`cannot setup ${what}: its value was answered with another kind of value`);
  const { reason, message } = result.failure;
  if (reason !== 'NoClient') throw new KubeletError(reason, message);
  throw new KubeletError(
    reason,
    `cannot setup ${what} because kube client is not configured: its content comes from the API server, and this kubelet runs standalone`,
  );
}

const nothing = {
  Secret: { kind: 'Secret', uid: '', type: '', data: {} },
  ConfigMap: { kind: 'ConfigMap', data: {}, binaryData: {} },
} as const satisfies { Secret: SecretObject; ConfigMap: ConfigMapObject };

/** An optional object that is not there is an empty one. */
export function requireSecretOrConfigMap(
  kind: 'Secret' | 'ConfigMap',
  result: PodObjectResult | undefined,
  optional: boolean,
  what: string,
): SecretObject | ConfigMapObject {
  if (optional && result?.outcome === 'failed' && result.failure.reason === 'NotFound') return nothing[kind];
  return requirePodObject(kind, result, what);
}
