/** Volumes of CSI drivers, of claims and of pods themselves (upstream pkg/volume/csi). */
import type { PublishVolumeRequest } from '../../../shared/contracts/volumes.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Pod, Volume } from '../../../shared/kubernetes/api.ts';
import { withTokens, type GetToken } from '../claims/service-account-tokens.ts';
import { toInlineRequest, toPublishRequest, type SecretTexts } from '../claims/to-publish-request.ts';
import type { CsiDriverObject, CsiSource, VolumeObjects } from '../volume-objects.ts';
import type { PersistentVolumeKind, Publication, PublishContext, Publisher } from './persistent-volume-kind.ts';

export const csiVolume: PersistentVolumeKind<CsiSource> = {
  supportsMountOptions: true,
  async toPublication(volume, objects, getToken) {
    const { source } = volume;
    const driver = await objects.driver(source.driver);
    const stageSecrets = await readSecret(objects, source.nodeStageSecretRef, 'NodeStageSecretRef');
    const publishSecrets = await readSecret(objects, source.nodePublishSecretRef, 'NodePublishSecretRef');
    const request = toPublishRequest({ ...volume, driver, stageSecrets, publishSecrets });
    return typeof request === 'string' ? request : publicationOf(await withTokens(request, volume.pod, driver, getToken), driver);
  },
};

/** A volume that the pod defines itself. Resolves with the problem as text. */
export async function inlinePublication(
  pod: Pod,
  name: string,
  source: NonNullable<Volume['csi']>,
  objects: VolumeObjects,
  getToken: GetToken,
): Promise<Publication | string> {
  const driver = await objects.driver(source.driver);
  const { nodePublishSecretRef: secret } = source;
  const reference = secret && { namespace: pod.metadata.namespace, name: secret.name ?? '' };
  const publishSecrets = await readSecret(objects, reference, 'NodePublishSecretRef');
  const request = toInlineRequest({ pod, name, source, driver, publishSecrets });
  return typeof request === 'string' ? request : publicationOf(await withTokens(request, pod, driver, getToken), driver);
}

function publicationOf(request: PublishVolumeRequest, driver: CsiDriverObject | null): Publication {
  const { podUID, specName, driver: name, volumeHandle, readOnly } = request;
  return {
    published: { place: { plugin: 'kubernetes.io/csi', specName }, readOnly },
    ...(request.needsAttachment && { toAttach: request }),
    ...(request.lifecycle === 'Persistent' && { claimedCsi: { podUID, specName, driver: name, volumeHandle } }),
    publish: (publisher, publishContext) => publisher.publishVolume({ ...request, publishContext }),
    ...(driver?.spec?.requiresRepublish === true && {
      republish: (publisher: Publisher, publishContext: PublishContext) =>
        publisher.publishVolume({ ...request, publishContext, isRepublish: true }),
    }),
  };
}

async function readSecret(
  objects: VolumeObjects,
  reference: { readonly namespace: string; readonly name: string } | undefined,
  field: string,
): Promise<SecretTexts> {
  if (!reference) return {};
  const { namespace, name } = reference;
  return objects.secret(namespace, name).catch((err: unknown) => {
    throw new Error(`fetching ${field} ${namespace}/${name} failed: ${messageOf(err)}`, { cause: err });
  });
}
