/** Has the images thread get what a container needs: its own image, and those that it mounts as volumes. */
import type { PullSecret } from '../../../shared/contracts/pod-objects.ts';
import type { ImageSpec } from '../../../shared/cri/generated/cri-v1.ts';
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import type { Container, EphemeralContainer, Pod } from '../../../shared/kubernetes/api.ts';
import { podUID } from '../../../shared/kubernetes/ids.ts';
import { imageVolumesFailed, imageVolumesMounted, imageVolumesRequested } from '../../../shared/metrics/definitions/pod-sync.ts';
import type { TaskContext } from '../dependencies.ts';
import { descriptionOf } from '../pod-runtime.ts';
import { imageRuntimeHandlerOf } from './runtime-handler.ts';

interface For {
  /** From `readPullSecrets`. */
  readonly pullSecrets: readonly PullSecret[];
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
}

export interface ContainerImages {
  /** The runtime's reference of the container's own. */
  readonly imageRef: string;
  /** By the volume's name; those that the container does not mount are left out. */
  readonly imageVolumes: ReadonlyMap<string, ImageSpec>;
}

/** All images of one container. Rejects as `ensureImage`. */
export async function ensureImages(context: TaskContext, wanted: For): Promise<ContainerImages> {
  const { image = '', imagePullPolicy } = wanted.container;
  const imageRef = await ensureImage(context, wanted, { image, pullPolicy: imagePullPolicy });
  return { imageRef, imageVolumes: await ensureImageVolumes(context, wanted) };
}

/** Answers with the runtime's reference of the image. Rejects with KubeletError whose reason is the puller's, or with Stopped. */
async function ensureImage(
  context: TaskContext,
  { pod, container: { name }, pullSecrets }: For,
  wanted: { readonly image: string; readonly pullPolicy: string | undefined },
): Promise<string> {
  const { channel, identity, events } = context;
  const result = await channel.ensureImage({
    podUID: podUID(pod),
    podName: identity.name,
    podNamespace: identity.namespace,
    containerName: name,
    image: wanted.image,
    imagePullPolicy: wanted.pullPolicy ?? 'IfNotPresent',
    runtimeHandler: imageRuntimeHandlerOf(context),
    podAnnotations: pod.metadata.annotations ?? {},
    pullSecrets,
    about: events.referenceTo(name),
  });
  if (result.outcome === 'present') return result.imageRef;
  const { reason, message, retryAfterMs } = result.failure;
  events.onContainer(name, 'Warning', 'Failed', `Error: ${reason}`);
  // The container is started, and fails for this, only once there is a sandbox.
  channel.containerWaiting(name, { reason, message });
  throw new KubeletError(reason, message, retryAfterMs === undefined ? {} : { retryAfterMs });
}

/** What a runtime says first of all when it cannot mount an image (cri-api pkg/errors). */
const imageVolumeMountFailed = 'ImageVolumeMountFailed';

/** Counts the image volumes of a container that was created, or was not because of `err` (upstream incrementImageVolumeMetrics). */
export function countImageVolumes(count: number, err?: unknown): void {
  imageVolumesRequested.inc({}, count);
  const failed = err !== undefined && descriptionOf(err).startsWith(imageVolumeMountFailed);
  (failed ? imageVolumesFailed : imageVolumesMounted).inc({}, count);
}

async function ensureImageVolumes(context: TaskContext, { pod, container, pullSecrets }: For): Promise<ReadonlyMap<string, ImageSpec>> {
  const images = new Map<string, ImageSpec>();
  const mounted = new Set(container.volumeMounts?.map(({ name }) => name));
  for (const { name, image } of pod.spec.volumes ?? []) {
    if (!image || !mounted.has(name)) continue;
    const { reference = '', pullPolicy } = image;
    images.set(name, {
      image: await ensureImage(context, { pod, container, pullSecrets }, { image: reference, pullPolicy }),
      imageRef: '',
      userSpecifiedImage: reference,
      runtimeHandler: imageRuntimeHandlerOf(context),
      annotations: { ...pod.metadata.annotations },
    });
  }
  return images;
}
