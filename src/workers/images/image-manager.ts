/**
 * Sees to it that an image is there before a container of it is made (upstream pkg/kubelet/images/image_manager.go). An image that is
 * present costs one ImageStatus and never waits behind a pull. A failure is a result with the reason that the API shows.
 */
import type { EnsureImageRequest, EnsureImageResult, ImageEvent } from '../../shared/contracts/images.ts';
import { CriError, type CriClient } from '../../shared/cri/client.ts';
import type { ImageSpec } from '../../shared/cri/generated/cri-v1.ts';
import { KubeletError, messageOf, toFailure } from '../../shared/errors/kubelet-error.ts';
import { goDuration } from '../../shared/kubernetes/go-text.ts';
import { withDefaultTag } from '../../shared/kubernetes/image-name.ts';
import { ensureImageRequests, imagePullDuration } from '../../shared/metrics/definitions/images.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { imageSizeBucket } from './image-size-bucket.ts';
import { PullBackoff } from './pull-backoff.ts';
import { PullQueue } from './pull-queue.ts';
import { PullThrottle } from './pull-throttle.ts';

/** Upstream gives a pull no deadline and trusts the runtime's own progress time-out; two hours is more than any image needs. */
const pullDeadlineMs = 2 * 60 * 60 * 1000;

export interface ImageManagerOptions {
  readonly images: CriClient['images'];
  readonly clock: Clock;
  readonly runtimeRequestTimeoutMs: number;
  /** Null: as many as ask. */
  readonly parallelPulls: number | null;
  readonly pullsPerSecond: number;
  readonly pullBurst: number;
}

interface Pulled {
  readonly imageRef: string;
  readonly sizeBytes: number;
  readonly durationMs: number;
}

export class ImageManager {
  readonly #images: CriClient['images'];
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #queue: PullQueue<Pulled>;
  readonly #throttle: PullThrottle;
  readonly #backoff: PullBackoff;

  constructor({ images, clock, runtimeRequestTimeoutMs, parallelPulls, pullsPerSecond, pullBurst }: ImageManagerOptions) {
    this.#images = images;
    this.#clock = clock;
    this.#deadlineMs = runtimeRequestTimeoutMs;
    this.#queue = new PullQueue(parallelPulls);
    this.#throttle = new PullThrottle({ perSecond: pullsPerSecond, burst: pullBurst, clock });
    this.#backoff = new PullBackoff(clock);
  }

  async ensureImage(request: EnsureImageRequest): Promise<EnsureImageResult> {
    const events: ImageEvent[] = [];
    try {
      return { outcome: 'present', imageRef: await this.#ensure(request, events), events };
    } catch (err) {
      return { outcome: 'failed', failure: toFailure(err, 'ErrImagePull'), events };
    }
  }

  async #ensure(request: EnsureImageRequest, events: ImageEvent[]): Promise<string> {
    const spec = toImageSpec(request, events);
    const policy = request.imagePullPolicy;
    const present = policy === 'Always' ? undefined : await this.#presentRef(spec, request, events);
    const required = present === undefined;
    ensureImageRequests.inc({
      present_locally: policy === 'Always' ? 'unknown' : String(!required),
      pull_policy: policy.toLowerCase(),
      pull_required: String(required),
    });
    if (present !== undefined) {
      events.push({
        type: 'Normal',
        reason: 'Pulled',
        message: `Container image "${request.image}" already present on machine and can be accessed by the pod`,
      });
      return present;
    }
    if (policy !== 'Never') return this.#pull(spec, request, events);
    const message = `Container image "${request.image}" is not present with pull policy of Never`;
    events.push({ type: 'Warning', reason: 'ErrImageNeverPull', message });
    throw new KubeletError('ErrImageNeverPull', message);
  }

  /** The image's ID where the runtime has it. */
  async #presentRef(spec: ImageSpec, { image }: EnsureImageRequest, events: ImageEvent[]): Promise<string | undefined> {
    try {
      const { image: found } = await this.#images.call('imageStatus', { image: spec }, { deadlineMs: this.#deadlineMs });
      return found?.id || undefined;
    } catch (err) {
      const message = `Failed to inspect image "${image}": ${rpcMessage(err)}`;
      events.push({ type: 'Warning', reason: 'InspectFailed', message });
      throw new KubeletError('ImageInspectError', message, { cause: err });
    }
  }

  async #pull(spec: ImageSpec, { podUID, image }: EnsureImageRequest, events: ImageEvent[]): Promise<string> {
    const key = `${podUID}_${image}`;
    const backedOff = this.#backoff.get(key);
    if (backedOff) {
      const message = `Back-off pulling image "${image}"`;
      events.push({ type: 'Normal', reason: 'BackOff', message });
      throw new KubeletError('ImagePullBackOff', `${message}: ${backedOff.lastError}`, {
        retryAfterMs: backedOff.untilMs - this.#clock.now(),
      });
    }
    events.push({ type: 'Normal', reason: 'Pulling', message: `Pulling image "${image}"` });
    const startedMs = this.#clock.monotonic();
    try {
      const pulled = await this.#queue.pull(`${spec.runtimeHandler}_${spec.image}`, () => this.#pullNow(spec));
      const waitedMs = this.#clock.monotonic() - startedMs;
      imagePullDuration.observe(waitedMs / 1000, { image_size_in_bytes: imageSizeBucket(pulled.sizeBytes) });
      const took = `${goDuration(Math.floor(pulled.durationMs))} (${goDuration(Math.floor(waitedMs))} including waiting)`;
      events.push({
        type: 'Normal',
        reason: 'Pulled',
        message: `Successfully pulled image "${image}" in ${took}. Image size: ${pulled.sizeBytes} bytes.`,
      });
      return pulled.imageRef;
    } catch (err) {
      events.push({ type: 'Warning', reason: 'Failed', message: `Failed to pull image "${image}": ${rpcMessage(err)}` });
      const { reason, message } = pullFailure(image, err);
      const retryAtMs = this.#backoff.step(key, `${reason}: ${message}`);
      throw new KubeletError(reason, message, { retryAfterMs: retryAtMs - this.#clock.now() });
    }
  }

  async #pullNow(spec: ImageSpec): Promise<Pulled> {
    if (!this.#throttle.tryAccept()) throw new KubeletError('ErrImagePull', 'pull QPS exceeded');
    const startedMs = this.#clock.monotonic();
    const { imageRef } = await this.#images.call('pullImage', { image: spec }, { deadlineMs: pullDeadlineMs });
    const durationMs = this.#clock.monotonic() - startedMs;
    // The size is for people and a metric: without it the pull has still succeeded.
    const status = await this.#images.call('imageStatus', { image: spec }, { deadlineMs: this.#deadlineMs }).catch(() => undefined);
    return { imageRef, sizeBytes: Number(status?.image?.size ?? 0n), durationMs };
  }
}

function toImageSpec({ image, podAnnotations, runtimeHandler }: EnsureImageRequest, events: ImageEvent[]): ImageSpec {
  try {
    return { image: withDefaultTag(image), annotations: { ...podAnnotations }, userSpecifiedImage: '', runtimeHandler, imageRef: '' };
  } catch (err) {
    const message = `Failed to apply default image tag "${image}": ${messageOf(err)}`;
    events.push({ type: 'Warning', reason: 'InspectFailed', message });
    throw new KubeletError('InvalidImageName', message);
  }
}

/** As Go prints a gRPC error. */
function rpcMessage(err: unknown): string {
  const message = messageOf(err);
  return err instanceof CriError ? message.slice(message.indexOf('rpc error:')) : message;
}

/** Runtimes say some reasons at the beginning of what went wrong (upstream evalCRIPullErr, cri-api pkg/errors). */
const namedCauses: readonly (readonly [reason: string, because: string])[] = [
  ['RegistryUnavailable', 'the registry is unavailable'],
  ['SignatureValidationFailed', 'the signature validation failed'],
];

function pullFailure(image: string, err: unknown): { reason: string; message: string } {
  const message = rpcMessage(err);
  const details = message.slice(message.startsWith('rpc error:') ? message.indexOf('desc = ') + 'desc = '.length : 0);
  for (const [reason, because] of namedCauses) {
    if (details.startsWith(reason))
      return { reason, message: `image pull failed for ${image} because ${because}${details.slice(reason.length)}` };
  }
  return { reason: 'ErrImagePull', message };
}
