/** Makes the images thread pull the images of a container: its own image and the images that it mounts as volumes. */
import type { EnsureImageResult } from '../../../../shared/contracts/images.ts';
import type { PullSecret } from '../../../../shared/registry-credentials/keyring.ts';
import type { ImageSpec } from '../../../../shared/cri/generated/cri-v1.ts';
import { KubeletError } from '../../../../shared/errors/kubelet-error.ts';
import type { Container, EphemeralContainer, ObjectReference, Pod } from '../../../../shared/kubernetes/api.ts';
import { podUID } from '../../../../shared/kubernetes/ids.ts';
import { imageVolumesFailed, imageVolumesMounted, imageVolumesRequested } from '../../../../shared/metrics/definitions/pod-sync.ts';
import { currentTraceParent } from '../../../../shared/tracing/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { descriptionOf } from '../pod-runtime.ts';
import { imageMountsProblem } from './image-mounts-size.ts';
import { imageVolumeProblem } from './image-volume-support.ts';
import { pullCredentials } from './pull-credentials.ts';
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

/** Ensures all images of one container. Rejects with KubeletError, whose reason is the image manager's, or with Stopped. */
export async function ensureImages(context: TaskContext, request: ImagesRequest): Promise<ContainerImages> {
  const { name, image = '', imagePullPolicy: pullPolicy } = request.container;
  const about = context.events.referenceTo(name);
  const imageRef = imageRefOf(context, name, await requestImage(context, request, { image, pullPolicy, about }));
  return { imageRef, imageVolumes: await ensureImageVolumes(context, request) };
}

interface RequestedImage {
  readonly image: string;
  readonly pullPolicy: string | undefined;
  /** The object of the pull's events. */
  readonly about: ObjectReference | null;
}

async function requestImage(
  context: TaskContext,
  { pod, container, pullSecrets }: ImagesRequest,
  { image, pullPolicy, about }: RequestedImage,
): Promise<EnsureImageResult> {
  const { channel, identity } = context;
  const traceParent = currentTraceParent();
  return channel.ensureImage({
    podUID: podUID(pod),
    podName: identity.name,
    podNamespace: identity.namespace,
    serviceAccountName: pod.spec.serviceAccountName ?? '',
    containerName: container.name,
    image,
    imagePullPolicy: pullPolicy ?? 'IfNotPresent',
    runtimeHandler: imageRuntimeHandlerOf(context),
    podAnnotations: pod.metadata.annotations ?? {},
    pullCredentials: pullCredentials(image, pullSecrets),
    about,
    ...(traceParent !== undefined && { traceParent }),
  });
}

/** Returns the runtime's reference of the image. Throws KubeletError when the container has to wait for it. */
function imageRefOf({ channel, events }: TaskContext, container: string, result: EnsureImageResult): string {
  if (result.outcome === 'present') return result.imageRef;
  const { reason, message, retryAfterMs } = result.failure;
  events.onContainer(container, 'Warning', 'Failed', `Error: ${reason}`);
  // Without this notification, the reason would appear only when the container is started, which waits for the sandbox.
  channel.containerWaiting(container, { reason, message });
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
    const problem = imageVolumeProblem(context.node) ?? imageMountsProblem(pod, container);
    if (problem !== null) {
      context.events.onContainer(container.name, 'Warning', 'Failed', `Error: ${problem}`);
      throw new KubeletError('CreateContainerError', problem);
    }
    const result = await ensureVolumeImage(context, { pod, container, pullSecrets }, name, { image: reference, pullPolicy });
    images.set(name, {
      image: imageRefOf(context, container.name, result),
      imageRef: '',
      userSpecifiedImage: reference,
      runtimeHandler: imageRuntimeHandlerOf(context),
      annotations: { ...pod.metadata.annotations },
    });
  }
  return images;
}

/** Containers that mount the same volume share one pull, whose events belong to the pod. */
function ensureVolumeImage(
  context: TaskContext,
  request: ImagesRequest,
  volume: string,
  spec: Omit<RequestedImage, 'about'>,
): Promise<EnsureImageResult> {
  const { imageVolumePulls: pulls, events } = context;
  const pull = pulls.get(volume) ?? requestImage(context, request, { ...spec, about: events.referenceToPod() });
  pulls.set(volume, pull);
  return pull;
}
