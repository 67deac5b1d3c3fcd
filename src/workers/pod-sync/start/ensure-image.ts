/** Makes the images thread pull the images of a container: its own image and the images that it mounts as volumes. */
import type { PullSecret } from '../../../shared/contracts/pod-objects.ts';
import type { ImageSpec } from '../../../shared/cri/generated/cri-v1.ts';
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import type { Container, EphemeralContainer, ObjectReference, Pod } from '../../../shared/kubernetes/api.ts';
import { podUID } from '../../../shared/kubernetes/ids.ts';
import { imageVolumesFailed, imageVolumesMounted, imageVolumesRequested } from '../../../shared/metrics/definitions/pod-sync.ts';
import type { TaskContext } from '../dependencies.ts';
import { descriptionOf } from '../pod-runtime.ts';
import { imageVolumeProblem } from './image-volume-support.ts';
import { imageRuntimeHandlerOf } from './runtime-handler.ts';

interface ImagesRequest {
  /** From `readPullSecrets`. */
  readonly pullSecrets: readonly PullSecret[];
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
}

export interface ContainerImages {
  /** The runtime's reference of the container's own image. */
  readonly imageRef: string;
  /** By volume name. Contains only volumes that the container mounts. */
  readonly imageVolumes: ReadonlyMap<string, ImageSpec>;
}

/** Ensures all images of one container. Rejects like `ensureImage`. */
export async function ensureImages(context: TaskContext, request: ImagesRequest): Promise<ContainerImages> {
  const { image = '', imagePullPolicy } = request.container;
  const about = context.events.referenceTo(request.container.name);
  const imageRef = await ensureImage(context, request, { image, pullPolicy: imagePullPolicy, about });
  return { imageRef, imageVolumes: await ensureImageVolumes(context, request) };
}

/** Returns the runtime's reference of the image. Rejects with KubeletError, whose reason is the image manager's, or with Stopped. */
async function ensureImage(
  context: TaskContext,
  { pod, container: { name }, pullSecrets }: ImagesRequest,
  spec: { readonly image: string; readonly pullPolicy: string | undefined; readonly about: ObjectReference | null },
): Promise<string> {
  const { channel, identity, events } = context;
  const result = await channel.ensureImage({
    podUID: podUID(pod),
    podName: identity.name,
    podNamespace: identity.namespace,
    serviceAccountName: pod.spec.serviceAccountName ?? '',
    containerName: name,
    image: spec.image,
    imagePullPolicy: spec.pullPolicy ?? 'IfNotPresent',
    runtimeHandler: imageRuntimeHandlerOf(context),
    podAnnotations: pod.metadata.annotations ?? {},
    pullSecrets,
    about: spec.about,
  });
  if (result.outcome === 'present') return result.imageRef;
  const { reason, message, retryAfterMs } = result.failure;
  events.onContainer(name, 'Warning', 'Failed', `Error: ${reason}`);
  // Without this notification, the reason would appear only when the container is started, which waits for the sandbox.
  channel.containerWaiting(name, { reason, message });
  throw new KubeletError(reason, message, retryAfterMs === undefined ? {} : { retryAfterMs });
}

/** The prefix of a runtime's error when it cannot mount an image (cri-api pkg/errors). */
const imageVolumeMountFailed = 'ImageVolumeMountFailed';

/** Counts the image volumes of a container whose creation succeeded or failed with `err` (upstream incrementImageVolumeMetrics). */
export function countImageVolumes(count: number, err?: unknown): void {
  imageVolumesRequested.inc({}, count);
  const failed = err !== undefined && descriptionOf(err).startsWith(imageVolumeMountFailed);
  (failed ? imageVolumesFailed : imageVolumesMounted).inc({}, count);
}

async function ensureImageVolumes(
  context: TaskContext,
  { pod, container, pullSecrets }: ImagesRequest,
): Promise<ReadonlyMap<string, ImageSpec>> {
  const images = new Map<string, ImageSpec>();
  const mounted = new Set(container.volumeMounts?.map(({ name }) => name));
  for (const { name, image } of pod.spec.volumes ?? []) {
    if (!image || !mounted.has(name)) continue;
    const { reference = '', pullPolicy } = image;
    const problem = imageVolumeProblem(context.node);
    if (problem !== null) {
      context.events.onContainer(container.name, 'Warning', 'Failed', `Error: ${problem}`);
      throw new KubeletError('CreateContainerError', problem);
    }
    // The pull's events belong to the pod, since several containers may mount the volume.
    const about = context.events.referenceToPod();
    images.set(name, {
      image: await ensureImage(context, { pod, container, pullSecrets }, { image: reference, pullPolicy, about }),
      imageRef: '',
      userSpecifiedImage: reference,
      runtimeHandler: imageRuntimeHandlerOf(context),
      annotations: { ...pod.metadata.annotations },
    });
  }
  return images;
}
