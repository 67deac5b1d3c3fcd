/** Requests the Secret or ConfigMap of a volume from main, and makes the volume's files. */
import type { Payload } from './atomic-writer.ts';
import { defaultFileMode } from './file-mode.ts';
import { makeObjectPayload, type KeyToPath } from './object-payload.ts';
import { requireSecretOrConfigMap } from './pod-object-results.ts';
import type { VolumeContext } from './volume-context.ts';

export interface ObjectVolume {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly name: string;
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
  readonly defaultMode?: number;
  readonly defaultUser?: number;
  /** Describes the volume in errors: `secret volume conf`. */
  readonly description: string;
}

/** Rejects with an Error that names the missing object or key. */
export async function requestObjectPayload(
  { pod, resolveFileUser, requestPodObjects, maxBytes }: VolumeContext,
  { kind, name, items, optional = false, defaultMode: mode = defaultFileMode, defaultUser, description }: ObjectVolume,
): Promise<Payload> {
  const [result] = await requestPodObjects([{ kind, namespace: pod.metadata.namespace, name }], maxBytes);
  const object = requireSecretOrConfigMap(kind, result, optional, description);
  return makeObjectPayload(object, { items, mode, optional, defaultUser, resolveFileUser, maxBytes });
}
