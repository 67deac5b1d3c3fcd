/** Publishes the volumes of pods when their syncs ask for them, and remembers what is published: a later sync of the pod costs no GET. */
import type {
  PublishedFolder,
  PublishedVolume,
  PublishedVolumeResult,
  UnpublishedVolumeResult,
  VolumeNotReady,
} from '../../shared/contracts/published-volumes.ts';
import type { VolumeReply, VolumesApi } from '../../shared/contracts/volumes.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Pod, Volume } from '../../shared/kubernetes/api.ts';
import { goDuration, goQuote } from '../../shared/kubernetes/go-text.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { escapeQualifiedName } from '../../shared/kubernetes/paths.ts';
import { volumesToMount } from '../../shared/kubernetes/volume-kind.ts';
import type { ClaimedVolumesWriter } from '../../shared/state/claimed-volumes-table.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { podReference, type EventSink } from '../events/index.ts';
import { bindingOfVolumeProblem, claimOfVolume, claimProblem } from './claims/claim-of-volume.ts';
import type { GetToken } from './claims/service-account-tokens.ts';
import { Operations } from './operations.ts';
import { volumeProblem } from './persistent-volumes/volume-problem.ts';
import { inlinePublication } from './persistent-volumes/csi-volume.ts';
import { findPersistentVolumeKind } from './persistent-volumes/persistent-volume-kinds.ts';
import type { Publication, Publisher } from './persistent-volumes/persistent-volume-kind.ts';
import type { VolumeObjects } from './volume-objects.ts';

export interface VolumeManagerOptions {
  /** Undefined when standalone. */
  readonly objects: VolumeObjects | undefined;
  readonly thread: Publisher & Pick<VolumesApi, 'unpublishVolume'>;
  /** Syncs the pod: what it waits for has ended. */
  readonly wake: (uid: PodUID) => void;
  /** A token of a pod's service account. */
  readonly getToken: GetToken;
  /** Of this node, now. */
  readonly nodeLabels: () => Readonly<Record<string, string>>;
  readonly events: EventSink;
  readonly claimedVolumes: Pick<ClaimedVolumesWriter, 'put' | 'removePod'>;
  readonly clock: Clock;
}

/** What may be done with a volume of a pod that is known. */
interface KnownPod {
  /** By the volume's name in the pod. */
  readonly published: Map<string, PublishedVolume>;
  /** The keys of all operations of the pod. */
  readonly operations: Set<string>;
  /** The volumes that are with the volumes thread. */
  readonly publishing: Set<PublishedVolume>;
  /** The published volumes whose drivers want them published with each sync. False: a publication is under way. */
  readonly republishable: Map<string, boolean>;
  /** No container runs any more: nothing is published. */
  isEnding: boolean;
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
    if (published) {
      if (known.republishable.has(volumeName)) void this.#republish(pod, volume, known);
      return { outcome: 'published', volume: published };
    }
    const key = `${uid}/${volumeName}`;
    known.operations.add(key);
    const outcome = await this.#publishing.run(
      key,
      () => this.#publish(pod, volume),
      () => this.#options.wake(uid),
    );
    return 'result' in outcome ? outcome.result : waiting(`volume ${goQuote(volumeName)} is being mounted`, outcome.runningMs);
  }

  /** Never rejects. */
  async unpublish(uid: PodUID, folder: PublishedFolder): Promise<UnpublishedVolumeResult> {
    const known = this.#known(uid);
    known.published.clear();
    this.#options.claimedVolumes.removePod(uid);
    const key = `${uid}/${folder.plugin}/${folder.specName}`;
    known.operations.add(key);
    const outcome = await this.#unpublishing.run(
      key,
      () => this.#unpublish(uid, folder),
      () => this.#options.wake(uid),
    );
    return 'result' in outcome ? outcome.result : waiting(`volume ${goQuote(folder.specName)} is being unmounted`, outcome.runningMs);
  }

  /** No container of the pod runs any more. What is still being published has no folder yet that the pod's teardown could find. */
  end(uid: PodUID): void {
    const known = this.#pods.get(uid);
    if (!known) return;
    known.isEnding = true;
    for (const { place } of known.publishing) if ('plugin' in place) void this.unpublish(uid, place);
  }

  /** Nothing of the pod is left on this node. */
  forget(uid: PodUID): void {
    for (const key of this.#pods.get(uid)?.operations ?? []) {
      this.#publishing.forget(key);
      this.#unpublishing.forget(key);
    }
    this.#pods.delete(uid);
    this.#options.claimedVolumes.removePod(uid);
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
      republishable: new Map(),
      isEnding: false,
    };
    this.#pods.set(uid, known);
    return known;
  }

  async #publish(pod: Pod, volume: Volume): Promise<PublishedVolumeResult> {
    try {
      const publication = await this.#resolve(pod, volume);
      if (typeof publication === 'string') return { outcome: 'unprocessed', message: publication };
      if ('outcome' in publication) return publication;
      const known = this.#pods.get(podUID(pod));
      if (!known || known.isEnding) return { outcome: 'waiting', message: `volume ${goQuote(volume.name)} is not mounted: the pod ends` };
      const { published } = publication;
      known.publishing.add(published);
      const reply = await publication.publish(this.#options.thread).finally(() => known.publishing.delete(published));
      this.#recordEvents(pod, publication, reply);
      if (reply.outcome === 'failed') return { outcome: 'failed', message: reply.message };
      known.published.set(volume.name, published);
      if (publication.republish) known.republishable.set(volume.name, true);
      this.#showClaim(pod, volume, published);
      return { outcome: 'published', volume: published };
    } catch (err) {
      return { outcome: 'failed', message: `MountVolume.SetUp failed for volume ${goQuote(volume.name)} : ${messageOf(err)}` };
    }
  }

  /** A failure changes nothing, and is an event; the next sync tries again (upstream with `requiresRepublish`). Never rejects. */
  async #republish(pod: Pod, volume: Volume, known: KnownPod): Promise<void> {
    if (known.republishable.get(volume.name) !== true) return;
    known.republishable.set(volume.name, false);
    const failed = (message: string) =>
      this.#options.events.record({ object: podReference(pod), type: 'Warning', reason: 'FailedMount', message });
    try {
      const publication = await this.#resolve(pod, volume);
      if (typeof publication === 'string') return failed(publication);
      if ('outcome' in publication) return failed(publication.message);
      if (known.isEnding || !known.published.has(volume.name)) return;
      const reply = await publication.republish?.(this.#options.thread);
      if (reply?.outcome === 'failed' && !known.isEnding) failed(reply.message);
    } catch (err) {
      failed(`MountVolume.SetUp failed for volume ${goQuote(volume.name)} : ${messageOf(err)}`);
    } finally {
      known.republishable.set(volume.name, true);
    }
  }

  #resolve(pod: Pod, volume: Volume): Promise<Publication | VolumeNotReady | string> {
    return volume.csi ? this.#ofPod(pod, volume.name, volume.csi) : this.#ofClaim(pod, volume);
  }

  /** For the usage of the claim's volume. A path of the host is not measured, as upstream. */
  #showClaim(pod: Pod, volume: Volume, { place }: PublishedVolume): void {
    const reference = claimOfVolume(pod, volume);
    if (!reference || 'hostPath' in place) return;
    this.#options.claimedVolumes.put({
      podUID: podUID(pod),
      plugin: escapeQualifiedName(place.plugin),
      folder: place.specName,
      volume: volume.name,
      namespace: pod.metadata.namespace,
      claim: reference.claimName,
    });
  }

  #recordEvents(pod: Pod, { persistentVolume }: Publication, reply: VolumeReply): void {
    const { events } = this.#options;
    if (reply.outcome === 'done' && reply.warning !== undefined)
      events.record({ object: podReference(pod), type: 'Warning', reason: 'AlreadyMountedVolume', message: reply.warning });
    if (reply.outcome === 'failed' && reply.mismatch !== undefined && persistentVolume) {
      const { name, uid } = persistentVolume.metadata;
      const object = { kind: 'PersistentVolume', apiVersion: 'v1', namespace: '', name, uid };
      events.record({ object, type: 'Warning', reason: 'FailedMountOnFilesystemMismatch', message: reply.mismatch });
    }
  }

  /** Resolves with the reason as text why the volume can't be used. */
  async #ofClaim(pod: Pod, volume: Volume): Promise<Publication | VolumeNotReady | string> {
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
    const found = findPersistentVolumeKind(persistentVolume);
    if (!found) return `${claimText}: this kubelet does not support the kind of PV ${name}`;
    const failure = volumeProblem(persistentVolume, found.kind, this.#options.nodeLabels());
    if (failure !== null) return { outcome: 'failed', message: failure };
    const publication = await found.kind.toPublication(
      { pod, volume, persistentVolume, source: found.source, readOnly: reference.readOnly },
      objects,
      this.#options.getToken,
    );
    return typeof publication === 'string' ? `${claimText}: ${publication}` : publication;
  }

  async #ofPod(pod: Pod, name: string, source: NonNullable<Volume['csi']>): Promise<Publication | string> {
    const { objects } = this.#options;
    return objects ? inlinePublication(pod, name, source, objects, this.#options.getToken) : `volume ${name}: ${standalone}`;
  }

  async #unpublish(uid: PodUID, folder: PublishedFolder): Promise<UnpublishedVolumeResult> {
    try {
      const reply = await this.#options.thread.unpublishVolume({ podUID: uid, ...folder });
      return reply.outcome === 'failed' ? { outcome: 'failed', message: reply.message } : { outcome: 'unpublished' };
    } catch (err) {
      return { outcome: 'failed', message: messageOf(err) };
    }
  }
}

function isOutsidePod({ persistentVolumeClaim, ephemeral, csi }: Volume): boolean {
  return persistentVolumeClaim !== undefined || ephemeral !== undefined || csi !== undefined;
}

const standalone = 'kube client is not configured: this kubelet runs standalone';

function waiting(what: string, runningMs: number): VolumeNotReady {
  return { outcome: 'waiting', message: `${what} since ${goDuration(Math.floor(runningMs))}` };
}
