/**
 * Ensures that an image is present before a container is created (upstream pkg/kubelet/images/image_manager.go). A present image costs
 * one ImageStatus call and never waits for a pull. A failure is a result with the reason that the API shows.
 */
import type { EnsureImageRequest, EnsureImageResult, PullWait } from '../../../shared/contracts/images.ts';
import type { RecordedEvent } from '../../../shared/contracts/event.ts';
import type { CriClient } from '../../../shared/cri/client.ts';
import type { AuthConfig, ImageSpec } from '../../../shared/cri/generated/cri-v1.ts';
import { KubeletError, messageOf, toFailure } from '../../../shared/errors/kubelet-error.ts';
import { goDuration } from '../../../shared/kubernetes/go-text.ts';
import { withDefaultTag } from '../../../shared/kubernetes/image-name.ts';
import { imagePullBackOff } from '../../../shared/kubernetes/waiting-reasons.ts';
import { ensureImageRequests, imagePullDuration } from '../../../shared/metrics/definitions/images.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { Credential } from '../../../shared/registry-credentials/keyring.ts';
import { credentialsToRecord, RequestCredentials, type CredentialSources } from './credentials/request-credentials.ts';
import type { ImageUses } from '../image-uses.ts';
import { imageSizeBucket } from './image-size-bucket.ts';
import { PullBackoff } from './pull-backoff.ts';
import { pullFailure, pullMessage, PullMessages, rpcMessage } from './pull-failure.ts';
import { PullThrottle } from './pull-throttle.ts';
import type { PullRecords } from './records/pull-records.ts';
import { SharedQueue } from './shared-queue.ts';

/** Upstream sets no deadline and relies on the runtime's progress time-out. No image needs two hours. */
const pullDeadlineMs = 2 * 60 * 60 * 1000;
/**
 * How long a pull counts against the limit of parallel pulls. The CRI reports no progress. containerd ends a pull without progress after at most five
 * minutes (image_pull_progress_timeout); with other runtimes a registry that stalls blocks the pulls of other pods for this time.
 */
const maxHoldMs = 10 * 60 * 1000;

/**
 * How soon a failed pull is requested again. That request meets the back-off, so the container then shows ImagePullBackOff. In upstream, the change of the
 * pod's sandbox causes this next sync.
 */
const showBackoffAfterMs = 1000;

export interface ImageManagerOptions extends CredentialSources {
  readonly images: CriClient['images'];
  readonly clock: Clock;
  readonly runtimeRequestTimeoutMs: number;
  /** Null for no limit. */
  readonly parallelPulls: number | null;
  readonly pullsPerSecond: number;
  readonly pullBurst: number;
  /** Null when the verification policy gives every pod access to every present image. */
  readonly records: Pick<PullRecords, 'mustPull' | 'recordIntent' | 'recordPulled' | 'recordEnd'> | null;
  readonly uses: ImageUses;
  readonly onEvent: (event: RecordedEvent) => void;
  readonly onPullWait?: (wait: PullWait) => void;
}

interface PullResult {
  /** The credential of the pull. Absent for an anonymous pull. */
  readonly credential?: Credential;
  readonly imageRef: string;
  readonly sizeBytes: number;
  readonly durationMs: number;
}

/** The labels of ensureImageRequests, as far as the request determined them. */
interface EnsureImageLabels {
  present?: boolean;
  pullRequired?: boolean;
}

type PresentImage = Omit<Extract<EnsureImageResult, { outcome: 'present' }>, 'outcome'>;

export class ImageManager {
  readonly #images: CriClient['images'];
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #records: ImageManagerOptions['records'];
  readonly #credentialSources: CredentialSources;
  readonly #uses: ImageUses;
  readonly #onEvent: (event: RecordedEvent) => void;
  readonly #onPullWait: (wait: PullWait) => void;
  /** Limits parallel pulls; equal requests share one pull. */
  readonly #queue: SharedQueue<PullResult>;
  readonly #throttle: PullThrottle;
  readonly #backoff: PullBackoff;

  constructor(options: ImageManagerOptions) {
    const { images, clock, runtimeRequestTimeoutMs, parallelPulls, pullsPerSecond, pullBurst, records, uses, onEvent } = options;
    this.#images = images;
    this.#clock = clock;
    this.#deadlineMs = runtimeRequestTimeoutMs;
    this.#records = records;
    this.#credentialSources = options;
    this.#uses = uses;
    this.#onEvent = onEvent;
    this.#onPullWait = options.onPullWait ?? (() => {});
    this.#queue = new SharedQueue({ limit: parallelPulls, maxHoldMs, clock });
    this.#throttle = new PullThrottle({ perSecond: pullsPerSecond, burst: pullBurst, clock });
    this.#backoff = new PullBackoff(clock);
  }

  /** The rate applies to later pulls. */
  setPullRate(rate: { readonly perSecond: number; readonly burst: number }): void {
    this.#throttle.setRate(rate);
  }

  async ensureImage(request: EnsureImageRequest): Promise<EnsureImageResult> {
    const end = await this.#uses.begin(request.image);
    try {
      const image = await this.#ensure(request);
      this.#uses.give(image.imageRef, this.#clock.monotonic());
      return { outcome: 'present', ...image };
    } catch (err) {
      return { outcome: 'failed', failure: toFailure(err, 'ErrImagePull') };
    } finally {
      end();
    }
  }

  async #ensure(request: EnsureImageRequest): Promise<PresentImage> {
    const labels: EnsureImageLabels = {};
    try {
      return await this.#ensurePresent(request, labels);
    } finally {
      ensureImageRequests.inc({
        present_locally: String(labels.present ?? 'unknown'),
        pull_policy: request.imagePullPolicy.toLowerCase(),
        pull_required: String(labels.pullRequired ?? 'unknown'),
      });
    }
  }

  async #ensurePresent(request: EnsureImageRequest, labels: EnsureImageLabels): Promise<PresentImage> {
    const spec = this.#imageSpec(request);
    const credentials = new RequestCredentials(request, this.#credentialSources);
    const policy = request.imagePullPolicy;
    if (policy !== 'Always') {
      const imageRef = await this.#presentImageRef(spec, request);
      labels.present = imageRef !== undefined;
      if (imageRef !== undefined && !(await this.#records?.mustPull(request.image, imageRef, credentials))) {
        labels.pullRequired = false;
        const accessNote = this.#records ? ' and can be accessed by the pod' : '';
        this.#recordEvent(request, 'Normal', 'Pulled', `Container image "${request.image}" already present on machine${accessNote}`);
        return { imageRef };
      }
    }
    if (policy !== 'Never' || labels.present) labels.pullRequired = true;
    if (policy !== 'Never') return this.#pull(spec, request, credentials);
    // The message is the same whether the image is absent or inaccessible to the pod, so a pod cannot learn which images are present.
    const message = `Container image "${request.image}" is not present with pull policy of Never`;
    this.#recordEvent(request, 'Warning', 'ErrImageNeverPull', message);
    throw new KubeletError('ErrImageNeverPull', message);
  }

  #recordWait({ podUID, containerName }: EnsureImageRequest, wait: PullWait['wait']): void {
    this.#onPullWait({ podUID, containerName, wait, atMs: this.#clock.monotonic() });
  }

  #recordEvent({ about }: EnsureImageRequest, type: RecordedEvent['type'], reason: string, message: string): void {
    if (about) this.#onEvent({ object: about, type, reason, message });
  }

  #imageSpec(request: EnsureImageRequest): ImageSpec {
    const { image, podAnnotations, runtimeHandler } = request;
    try {
      return { image: withDefaultTag(image), annotations: { ...podAnnotations }, userSpecifiedImage: '', runtimeHandler, imageRef: '' };
    } catch (err) {
      const message = `Failed to apply default image tag "${image}": ${messageOf(err)}`;
      this.#recordEvent(request, 'Warning', 'InspectFailed', message);
      throw new KubeletError('InvalidImageName', message);
    }
  }

  /** Returns the image's ID when the runtime has the image. */
  async #presentImageRef(spec: ImageSpec, request: EnsureImageRequest): Promise<string | undefined> {
    try {
      const { image: status } = await this.#images.call('imageStatus', { image: spec }, { deadlineMs: this.#deadlineMs });
      return status?.id || undefined;
    } catch (err) {
      const message = `Failed to inspect image "${request.image}": ${rpcMessage(err)}`;
      this.#recordEvent(request, 'Warning', 'InspectFailed', message);
      throw new KubeletError('ImageInspectError', message);
    }
  }

  async #pull(spec: ImageSpec, request: EnsureImageRequest, requestCredentials: RequestCredentials): Promise<PresentImage> {
    const { podUID, image } = request;
    const key = `${podUID}_${image}`;
    const backoff = this.#backoff.get(key);
    if (backoff) {
      const message = `Back-off pulling image "${image}"`;
      this.#recordEvent(request, 'Normal', 'BackOff', message);
      throw new KubeletError(imagePullBackOff, `${message}: ${backoff.lastError}`, {
        retryAfterMs: backoff.untilMs - this.#clock.now(),
      });
    }
    const credentials = await requestCredentials.all();
    await this.#records?.recordIntent(image);
    this.#recordEvent(request, 'Normal', 'Pulling', `Pulling image "${image}"`);
    const startedMs = this.#clock.monotonic();
    try {
      // Requests with different credentials do not share a pull, because access to an image depends on the credentials; nor do those of different
      // namespaces, on which a runtime's policies for signatures and registries may depend (CRI-O).
      const sharingKey = JSON.stringify([spec.runtimeHandler, spec.image, request.podNamespace, ...credentials.map(({ hash }) => hash)]);
      const wait = this.#queue.waitFor(sharingKey);
      if (wait !== null) this.#recordWait(request, wait === 'limit' ? 'PullQueue' : 'SharedPull');
      const pulled = await this.#queue.run(sharingKey, () => {
        if (wait !== null) this.#recordWait(request, null);
        return this.#throttledPull({ spec, pod: request }, credentials);
      });
      await this.#records?.recordPulled(image, pulled.imageRef, credentialsToRecord(pulled.credential, credentials));
      const waitedMs = this.#clock.monotonic() - startedMs;
      imagePullDuration.observe(waitedMs / 1000, { image_size_in_bytes: imageSizeBucket(pulled.sizeBytes) });
      const duration = `${goDuration(Math.floor(pulled.durationMs))} (${goDuration(Math.floor(waitedMs))} including waiting)`;
      const message = `Successfully pulled image "${image}" in ${duration}. Image size: ${pulled.sizeBytes} bytes.`;
      this.#recordEvent(request, 'Normal', 'Pulled', message);
      return { imageRef: pulled.imageRef, pulledBytes: pulled.sizeBytes };
    } catch (err) {
      await this.#records?.recordEnd(image);
      this.#recordEvent(request, 'Warning', 'Failed', `Failed to pull image "${image}": ${pullMessage(err)}`);
      const { reason, message } = pullFailure(image, err);
      this.#backoff.step(key, `${reason}: ${message}`);
      throw new KubeletError(reason, message, { retryAfterMs: showBackoffAfterMs });
    }
  }

  async #throttledPull(target: PullTarget, credentials: readonly Credential[]): Promise<PullResult> {
    if (!this.#throttle.tryAccept()) throw new KubeletError('ErrImagePull', 'pull QPS exceeded');
    const startedMs = this.#clock.monotonic();
    const { imageRef, credential } = await this.#pullWithAny(target, credentials);
    const durationMs = this.#clock.monotonic() - startedMs;
    // The size serves only the event and a metric. The pull succeeded even when this call fails.
    const status = await this.#images.call('imageStatus', { image: target.spec }, { deadlineMs: this.#deadlineMs }).catch(() => undefined);
    return { imageRef, sizeBytes: Number(status?.image?.size ?? 0n), durationMs, ...(credential && { credential }) };
  }

  /** Tries the credentials in order. Pulls anonymously when there are none. */
  async #pullWithAny(
    { spec, pod }: PullTarget,
    credentials: readonly Credential[],
  ): Promise<{ imageRef: string; credential?: Credential }> {
    const sandboxConfig = { metadata: { name: pod.podName, namespace: pod.podNamespace, uid: pod.podUID } };
    const pull = async (auth?: AuthConfig) => {
      const pulled = await this.#images.call('pullImage', { image: spec, auth, sandboxConfig }, { deadlineMs: pullDeadlineMs });
      if (pulled.imageRef === '') throw new Error(`imageRef of image "${spec.image}" is not set`);
      return pulled;
    };
    if (credentials.length === 0) return pull();
    const failures = new PullMessages();
    for (const credential of credentials) {
      try {
        return { ...(await pull(authConfig(credential))), credential };
      } catch (err) {
        failures.add(err);
      }
    }
    throw new Error(failures.toString());
  }
}

interface PullTarget {
  readonly spec: ImageSpec;
  /** Names the pod of the pull for the runtime. */
  readonly pod: Pick<EnsureImageRequest, 'podName' | 'podNamespace' | 'podUID'>;
}

function authConfig({ login: { username, password } }: Credential): AuthConfig {
  return { username, password, auth: '', serverAddress: '', identityToken: '', registryToken: '' };
}
