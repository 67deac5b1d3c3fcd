/**
 * Reads the image pull secrets of a pod (upstream Kubelet.getPullSecretsForPod). The API server has added those of the service account to
 * the spec.
 */
import type { PullSecret } from '../../../../shared/registry-credentials/keyring.ts';
import type { Pod } from '../../../../shared/kubernetes/api.ts';
import type { TaskContext } from '../dependencies.ts';

export interface PullSecrets {
  /** The secrets that exist: a pull may succeed without the missing ones. */
  readonly found: readonly PullSecret[];
  /** The names of the others. */
  readonly missing: readonly string[];
}

/** The secrets of a pod stay in memory while its images are pulled. A Docker config with a thousand registries has about this size. */
const maxPullSecretBytes = 256 * 1024;

/** Rejects with Stopped only. */
export async function readPullSecrets({ channel, logger }: TaskContext, { metadata, spec }: Pod): Promise<PullSecrets> {
  const { namespace } = metadata;
  const names = (spec.imagePullSecrets ?? []).flatMap(({ name }) => (name ? [name] : []));
  if (names.length === 0) return { found: [], missing: [] };
  const { results, bytes } = await channel.podObjects(
    names.map((name) => ({ kind: 'Secret', namespace, name })),
    maxPullSecretBytes,
  );
  if (!results) {
    logger.warn({ bytes }, 'The pull secrets of a pod are too long, and none is used');
    return { found: [], missing: names };
  }
  const missing: string[] = [];
  const found = results.flatMap((result, index): PullSecret[] => {
    const name = names[index]!;
    if (result.outcome === 'value' && result.value.kind === 'Secret') {
      const { uid, type, data } = result.value;
      return [{ namespace, name, uid, type, data }];
    }
    missing.push(name);
    logger.debug({ secret: `${namespace}/${name}`, err: result.outcome === 'failed' ? result.failure.message : '' }, 'No pull secret');
    return [];
  });
  return { found, missing };
}

/** Records the missing secrets of a sync in which a pull has failed: they may be the reason. */
export function reportMissingSecrets({ events }: TaskContext, { missing }: PullSecrets): void {
  if (missing.length === 0) return;
  const message = `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`;
  events.onPod('Warning', 'FailedToRetrieveImagePullSecret', message);
}
