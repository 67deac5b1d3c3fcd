/**
 * Reads the image pull secrets of a pod (upstream Kubelet.getPullSecretsForPod). The API server has added those of the service account to
 * the spec.
 */
import type { PullSecret } from '../../../shared/contracts/pod-objects.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { TaskContext } from '../dependencies.ts';

/** Returns the secrets that exist: a pull may succeed without the missing ones. Rejects with Stopped only. */
export async function readPullSecrets({ channel, events, logger }: TaskContext, { metadata, spec }: Pod): Promise<PullSecret[]> {
  const { namespace } = metadata;
  const names = (spec.imagePullSecrets ?? []).flatMap(({ name }) => (name ? [name] : []));
  if (names.length === 0) return [];
  const results = await channel.podObjects(names.map((name) => ({ kind: 'Secret', namespace, name })));
  const missing: string[] = [];
  const secrets = results.flatMap((result, index): PullSecret[] => {
    const name = names[index]!;
    if (result.outcome === 'value' && result.value.kind === 'Secret') {
      const { uid, type, data } = result.value;
      return [{ namespace, name, uid, type, data }];
    }
    missing.push(name);
    logger.debug({ secret: `${namespace}/${name}`, err: result.outcome === 'failed' ? result.failure.message : '' }, 'No pull secret');
    return [];
  });
  if (missing.length > 0) {
    const message = `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`;
    events.onPod('Warning', 'FailedToRetrieveImagePullSecret', message);
  }
  return secrets;
}
