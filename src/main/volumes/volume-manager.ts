/** Publishes the volumes of pods when their syncs ask for them, and remembers what is published: a later sync of the pod costs no GET. */
import type {
  PublishedVolume,
  PublishedVolumeResult,
  UnpublishedVolumeResult,
  VolumeNotReady,
} from '../../shared/contracts/published-volumes.ts';
import type { PublishVolumeRequest, VolumesApi } from '../../shared/contracts/volumes.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Pod, Volume } from '../../shared/kubernetes/api.ts';
import { goDuration, goQuote } from '../../shared/kubernetes/go-text.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { volumesToMount } from '../../shared/kubernetes/volume-kind.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { Attachment, Attachments } from './attachments/attachments.ts';
import { bindingOfVolumeProblem, claimOfVolume, claimProblem } from './claims/claim-of-volume.ts';
import { toInlineRequest, toPublishRequest, type SecretTexts } from './claims/to-publish-request.ts';
import { Operations } from './operations.ts';
import type { VolumeObjects } from './volume-objects.ts';

export interface VolumeManagerOptions {
  /** Undefined when standalone. */
  readonly objects: VolumeObjects | undefined;
  readonly thread: Pick<VolumesApi, 'publishVolume' | 'unpublishVolume'>;
  /** Undefined when standalone. */
  readonly attachments: Pick<Attachments, 'untilAttached' | 'release'> | undefined;
  /** Syncs the pod: what it waits for has ended. */
  readonly wake: (uid: PodUID) => void;
  /** Ends the pod: the node has no room for its volumes. */
  readonly reject: (pod: Pod, rejection: VolumesRejection) => void;
  readonly clock: Clock;
}

export interface VolumesRejection {
  readonly reason: string;
  readonly message: string;
}

/** What may be done with a volume of a pod that is known. */
interface KnownPod {
  /** By the volume's name in the pod. */
  readonly published: Map<string, PublishedVolume>;
  /** The keys of all operations of the pod. */
  readonly operations: Set<string>;
  /** The volumes that are with the volumes thread, by the name of their folder. */
  readonly publishing: Set<string>;
  /** What a volume waits for before it is with the volumes thread, by its name in the pod. */
  readonly waitingFor: Map<string, string>;
  /** The volumes that were to be attached, by the name of their folder. */
  readonly attaching: Set<string>;
  /** Aborted: no container runs any more, nothing is published. */
  readonly ending: AbortController;
}

export class VolumeManager {
  readonly #options: VolumeManagerOptions;
  readonly #pods = new Map<PodUID, KnownPod>();
  readonly #publishing: Operations<PublishedVolumeResult>;
  readonly #unpublishing: Operations<UnpublishedVolumeResult>;

  constructor(options: VolumeManagerOptions) {
    this.#options = options;
    this.#publishing = new Operations(options.clock);
    this.#unpublishing = new Operations(options.clock);
  }

  /** Whether all volumes of the pod that come through here are published: its sync waits for none of them. */
  areReady(pod: Pod): boolean {
    // Most pods have none: they pay for no search in their containers.
    if (!pod.spec.volumes?.some(isOutsidePod)) return true;
    const published = this.#pods.get(podUID(pod))?.published;
    return volumesToMount(pod).every((volume) => !isOutsidePod(volume) || published?.has(volume.name) === true);
  }

  /** Never rejects. */
  async publish(pod: Pod, volumeName: string): Promise<PublishedVolumeResult> {
    const uid = podUID(pod);
    const volume = pod.spec.volumes?.find(({ name }) => name === volumeName);
    if (!volume) return { outcome: 'failed', message: `the pod has no volume ${goQuote(volumeName)}` };
    const known = this.#known(uid);
    const published = known.published.get(volumeName);
    if (published) return { outcome: 'published', volume: published };
    const key = `${uid}/${volumeName}`;
    known.operations.add(key);
    const outcome = await this.#publishing.run(
      key,
      () => this.#publish(pod, volume),
      () => this.#options.wake(uid),
    );
    if ('result' in outcome) return outcome.result;
    const attaching = known.waitingFor.get(volumeName);
    if (attaching !== undefined) return { ...waiting(attaching, outcome.runningMs), isUnattached: true };
    return waiting(`volume ${goQuote(volumeName)} is being mounted`, outcome.runningMs);
  }

  /** Never rejects. */
  async unpublish(uid: PodUID, specName: string): Promise<UnpublishedVolumeResult> {
    const known = this.#known(uid);
    known.published.clear();
    const key = `${uid}/${specName}`;
    known.operations.add(key);
    const outcome = await this.#unpublishing.run(
      key,
      () => this.#unpublish(uid, specName),
      () => this.#options.wake(uid),
    );
    return 'result' in outcome ? outcome.result : waiting(`volume ${goQuote(specName)} is being unmounted`, outcome.runningMs);
  }

  /** No container of the pod runs any more. What is still being published has no folder yet that the pod's teardown could find. */
  end(uid: PodUID): void {
    const known = this.#pods.get(uid);
    if (!known) return;
    known.ending.abort();
    for (const specName of known.publishing) void this.unpublish(uid, specName);
  }

  /** Nothing of the pod is left on this node. */
  forget(uid: PodUID): void {
    const known = this.#pods.get(uid);
    for (const key of known?.operations ?? []) {
      this.#publishing.forget(key);
      this.#unpublishing.forget(key);
    }
    known?.ending.abort();
    for (const specName of known?.attaching ?? []) this.#options.attachments?.release(uid, specName);
    this.#pods.delete(uid);
  }

  /** A driver has registered: pods that have failed without it can be retried. */
  retryUnpublished(): void {
    for (const [uid, { published, operations }] of this.#pods) if (operations.size > published.size) this.#options.wake(uid);
  }

  #known(uid: PodUID): KnownPod {
    const known = this.#pods.get(uid) ?? {
      published: new Map(),
      operations: new Set(),
      publishing: new Set(),
      waitingFor: new Map(),
      attaching: new Set(),
      ending: new AbortController(),
    };
    this.#pods.set(uid, known);
    return known;
  }

  async #publish(pod: Pod, volume: Volume): Promise<PublishedVolumeResult> {
    try {
      const request = volume.csi ? await this.#inlineRequest(pod, volume, volume.csi) : await this.#claimRequest(pod, volume);
      if (typeof request === 'string') return { outcome: 'unprocessed', message: request };
      const known = this.#pods.get(podUID(pod));
      if (!known || known.ending.signal.aborted) return podEnds(volume);
      const attachment = request.needsAttachment ? await this.#attach(known, volume, request) : notNeeded;
      if (attachment.outcome === 'exhausted') return this.#reject(pod, volume);
      if (attachment.outcome !== 'attached') return attachment;
      if (known.ending.signal.aborted) return podEnds(volume);
      known.publishing.add(request.specName);
      const { publishContext } = attachment;
      const reply = await this.#options.thread
        .publishVolume({ ...request, publishContext })
        .finally(() => known.publishing.delete(request.specName));
      if (reply.outcome === 'failed') return reply;
      const published = { specName: request.specName, readOnly: request.readOnly };
      known.published.set(volume.name, published);
      return { outcome: 'published', volume: published };
    } catch (err) {
      return { outcome: 'failed', message: `MountVolume.SetUp failed for volume ${goQuote(volume.name)} : ${messageOf(err)}` };
    }
  }

  /** The words are upstream's VolumeAttachLimitExceededError. */
  #reject(pod: Pod, volume: Volume): VolumeNotReady {
    const published = this.#pods.get(podUID(pod))?.published;
    const unmounted = volumesToMount(pod).filter((other) => isOutsidePod(other) && published?.has(other.name) !== true);
    const names = `unmounted volumes=[${unmounted.map(({ name }) => name).join(' ')}], unattached volumes=[${volume.name}]`;
    const message = `Node has reached its volume attachment limit, rejecting pod. ${names}, failed to process volumes=[]: context deadline exceeded`;
    this.#options.reject(pod, { reason: 'VolumeAttachmentLimitExceeded', message });
    return { outcome: 'waiting', message };
  }

  async #attach(known: KnownPod, { name }: Volume, request: PublishVolumeRequest): Promise<Attachment> {
    const { attachments } = this.#options;
    if (!attachments) return { outcome: 'failed', message: standalone };
    known.attaching.add(request.specName);
    const setWaiting = (message: string) => known.waitingFor.set(name, message);
    return attachments.untilAttached(request, setWaiting, known.ending.signal).finally(() => known.waitingFor.delete(name));
  }

  /** Resolves with the reason as text why the volume can't be used. */
  async #claimRequest(pod: Pod, volume: Volume): Promise<PublishVolumeRequest | string> {
    const { objects } = this.#options;
    const reference = claimOfVolume(pod, volume);
    if (!reference) return `volume ${volume.name} has no claim`;
    const { namespace } = pod.metadata;
    const claimText = `error processing PVC ${namespace}/${reference.claimName}`;
    if (!objects) return `${claimText}: ${standalone}`;
    const claim = await objects
      .claim(namespace, reference.claimName)
      .catch((err: unknown) => `${claimText}: failed to fetch PVC from API server: ${messageOf(err)}`);
    if (typeof claim === 'string') return claim;
    const problem = claimProblem(pod, claim, reference);
    if (problem !== null) return problem;
    const name = claim.spec?.volumeName ?? '';
    const persistentVolume = await objects
      .volume(name)
      .catch((err: unknown) => `${claimText}: failed to fetch PV ${name} from API server: ${messageOf(err)}`);
    if (typeof persistentVolume === 'string') return persistentVolume;
    const bindingProblem = bindingOfVolumeProblem(claim, persistentVolume);
    if (bindingProblem !== null) return bindingProblem;
    const source = persistentVolume.spec?.csi;
    if (!source) return `${claimText}: PV ${name} has no CSI source, and this kubelet has no other kinds of persistent volumes`;
    const driver = await objects.driver(source.driver);
    const stageSecrets = await readSecret(objects, source.nodeStageSecretRef, 'NodeStageSecretRef');
    const publishSecrets = await readSecret(objects, source.nodePublishSecretRef, 'NodePublishSecretRef');
    const { readOnly } = reference;
    const request = toPublishRequest({ pod, volume, persistentVolume, source, driver, readOnly, stageSecrets, publishSecrets });
    return typeof request === 'string' ? `${claimText}: ${request}` : request;
  }

  async #inlineRequest(pod: Pod, { name }: Volume, source: NonNullable<Volume['csi']>): Promise<PublishVolumeRequest | string> {
    const { objects } = this.#options;
    if (!objects) return `volume ${name}: ${standalone}`;
    const driver = await objects.driver(source.driver);
    const { nodePublishSecretRef: secret } = source;
    const reference = secret && { namespace: pod.metadata.namespace, name: secret.name ?? '' };
    return toInlineRequest({ pod, name, source, driver, publishSecrets: await readSecret(objects, reference, 'NodePublishSecretRef') });
  }

  async #unpublish(uid: PodUID, specName: string): Promise<UnpublishedVolumeResult> {
    try {
      const reply = await this.#options.thread.unpublishVolume({ podUID: uid, specName });
      if (reply.outcome === 'failed') return reply;
      this.#options.attachments?.release(uid, specName);
      return { outcome: 'unpublished' };
    } catch (err) {
      return { outcome: 'failed', message: messageOf(err) };
    }
  }
}

function isOutsidePod({ persistentVolumeClaim, ephemeral, csi }: Volume): boolean {
  return persistentVolumeClaim !== undefined || ephemeral !== undefined || csi !== undefined;
}

const standalone = 'kube client is not configured: this kubelet runs standalone';

const notNeeded: Attachment = { outcome: 'attached', publishContext: {} };

function podEnds({ name }: Volume): VolumeNotReady {
  return { outcome: 'waiting', message: `volume ${goQuote(name)} is not mounted: the pod ends` };
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

function waiting(what: string, runningMs: number): VolumeNotReady {
  return { outcome: 'waiting', message: `${what} since ${goDuration(Math.floor(runningMs))}` };
}
