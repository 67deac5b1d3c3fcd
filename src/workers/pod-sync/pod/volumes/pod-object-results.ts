/** Unwraps main's results for the API objects that volumes need. Pure. */
import type { ConfigMapObject, SecretObject, PodObject, PodObjectResult } from '../../../../shared/contracts/pod-objects.ts';
import { KubeletError } from '../../../../shared/errors/kubelet-error.ts';

/**
 * Returns the object. Throws KubeletError with main's reason and message.
 * @param description the volume, for example `secret volume conf`; part of the message of a standalone kubelet
 */
export function requirePodObject<K extends PodObject['kind']>(
  kind: K,
  result: PodObjectResult | undefined,
  description: string,
): Extract<PodObject, { kind: K }> {
  if (result?.outcome === 'value' && result.value.kind === kind) return result.value as Extract<PodObject, { kind: K }>;
  if (result?.outcome !== 'failed') throw new Error(`cannot setup ${description}: the reply holds another kind of object`);
  const { reason, message } = result.failure;
  if (reason !== 'NoClient') throw new KubeletError(reason, message);
  throw new KubeletError(
    reason,
    `cannot setup ${description} because kube client is not configured: its content comes from the API server, and this kubelet runs standalone`,
  );
}

const emptyObjects = {
  Secret: { kind: 'Secret', uid: '', type: '', data: {} },
  ConfigMap: { kind: 'ConfigMap', data: {}, binaryData: {} },
} as const satisfies { Secret: SecretObject; ConfigMap: ConfigMapObject };

/** Returns an empty object when an optional one does not exist. */
export function requireSecretOrConfigMap(
  kind: 'Secret' | 'ConfigMap',
  result: PodObjectResult | undefined,
  optional: boolean,
  description: string,
): SecretObject | ConfigMapObject {
  if (optional && result?.outcome === 'failed' && result.failure.reason === 'NotFound') return emptyObjects[kind];
  return requirePodObject(kind, result, description);
}
