/** Publishes the volumes of pods when their syncs ask for them, and remembers what is published: a later sync of the pod costs no GET. */
import type {
  PublishedFolder,
  PublishedVolume,
  PublishedVolumeResult,
  UnpublishedVolumeResult,
  VolumeNotReady,
} from '../../shared/contracts/published-volumes.ts';
import type { SlowGroupChange, VolumeHealthRequest, VolumeReply, VolumesApi } from '../../shared/contracts/volumes.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Pod, Volume } from '../../shared/kubernetes/api.ts';
import { goDuration, goQuote } from '../../shared/kubernetes/go-text.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { escapeQualifiedName } from '../../shared/kubernetes/paths.ts';
import { volumesToMount } from '../../shared/kubernetes/volume-kind.ts';
import type { ClaimedVolumesWriter } from '../../shared/state/claimed-volumes-table.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { podReference, type EventSink } from '../events/index.ts';
import type { Attachment, Attachments } from './attachments/attachments.ts';
import { claimOfVolume } from './claims/claim-of-volume.ts';
import { nameInStatus, type ClaimedCsiVolume } from './health/claimed-csi-volume.ts';
import { Operations } from './operations.ts';
import type { AttachableVolume, Publication, Publisher } from './persistent-volumes/persistent-volume-kind.ts';
import { resolvePublication, standalone, type PublicationSources } from './persistent-volumes/resolve-publication.ts';
import { slowGroupMessage } from './slow-group-message.ts';

export interface VolumeManagerOptions extends PublicationSources {
  readonly thread: Publisher & Pick<VolumesApi, 'unpublishVolume'>;
  /** Undefined when standalone. */
  readonly attachments: Pick<Attachments, 'untilAttached' | 'release'> | undefined;
  /** Syncs the pod: what it waits for has ended. */
  readonly wake: (uid: PodUID) => void;
  /** Ends the pod: the node has no room for its volumes. */
  readonly reject: (pod: Pod, rejection: VolumesRejection) => void;
  readonly events: EventSink;
  readonly claimedVolumes: Pick<ClaimedVolumesWriter, 'put' | 'removePod'>;
  readonly clock: Clock;
}

export interface VolumesRejection {
  readonly reason: string;
  readonly message: string;
}

/** The state of one pod's volumes. */
interface KnownPod {
  /** By the volume's name in the pod. */
  readonly published: Map<string, PublishedVolume>;
  /** The keys of all operations of the pod. */
  readonly operations: Set<string>;
  /** The volumes that the volumes thread is publishing. */
  readonly publishing: Map<PublishedVolume, Pod>;
  /** By the volume's name in the pod: what it waits for before the volumes thread publishes it. */
  readonly waitingFor: Map<string, string>;
  /** The CSI volumes of claims whose publication was requested, by their name in the pod's status. */
  readonly claimedCsi: Map<string, VolumeHealthRequest>;
  /** The volumes that were to be attached, by the name of their folder. */
  readonly attaching: Set<string>;
  /** The published volumes whose drivers want them published with each sync. False: a publication is under way. */
  readonly republishable: Map<string, boolean>;
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

  /** Whether all volumes of the pod that this class publishes are published: the pod's sync waits for none of them. */
  areReady(pod: Pod): boolean {
    // Most pods have no such volume, and are spared the search in their containers.
    if (!pod.spec.volumes?.some(isPublishedHere)) return true;
    const published = this.#pods.get(podUID(pod))?.published;
    return volumesToMount(pod).every((volume) => !isPublishedHere(volume) || published?.has(volume.name) === true);
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
    if ('result' in outcome) return outcome.result;
    const attaching = known.waitingFor.get(volumeName);
    if (attaching !== undefined) return { ...waiting(attaching, outcome.runningMs), isUnattached: true };
    return waiting(`volume ${goQuote(volumeName)} is being mounted`, outcome.runningMs);
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

  /**
   * Called when no container of the pod runs any more. Unpublishes volumes that are still being published: the pod's teardown could not find their
   * folders yet.
   */
  end(uid: PodUID): void {
    const known = this.#pods.get(uid);
    if (!known) return;
    known.ending.abort();
    for (const { place } of known.publishing.keys()) if ('plugin' in place) void this.unpublish(uid, place);
  }

  /** Records an event of the pod: its volume is not mounted yet, since its files still get the fsGroup. */
  reportSlowGroupChange({ podUID: uid, target, files }: SlowGroupChange): void {
    const [pod] = this.#pods.get(uid as PodUID)?.publishing.values() ?? [];
    if (!pod) return;
    const message = slowGroupMessage(target.slice(Math.max(0, target.indexOf(uid))), files);
    this.#options.events.record({ object: podReference(pod), type: 'Warning', reason: 'VolumePermissionChangeInProgress', message });
  }

  /** Called when nothing of the pod is left on this node. */
  forget(uid: PodUID): void {
    const known = this.#pods.get(uid);
    for (const key of known?.operations ?? []) {
      this.#publishing.forget(key);
      this.#unpublishing.forget(key);
    }
    known?.ending.abort();
    for (const specName of known?.attaching ?? []) this.#options.attachments?.release(uid, specName);
    this.#pods.delete(uid);
    this.#options.claimedVolumes.removePod(uid);
  }

  /** Called when a driver has registered: pods that have failed without the driver are retried. */
  retryUnpublished(): void {
    for (const [uid, { published, operations }] of this.#pods) if (operations.size > published.size) this.#options.wake(uid);
  }

  /** The CSI volumes of claims that are published, or whose publication was tried, of pods whose containers have not ended. */
  claimedCsiVolumes(): ClaimedCsiVolume[] {
    return [...this.#pods].flatMap(([uid, { claimedCsi, ending }]) =>
      ending.signal.aborted ? [] : [...claimedCsi].map(([volumeName, request]) => ({ uid, volumeName, request })),
    );
  }

  /** Returns the state of the pod's volumes, a new one for an unknown pod. */
  #known(uid: PodUID): KnownPod {
    const known = this.#pods.get(uid) ?? {
      published: new Map(),
      operations: new Set(),
      publishing: new Map(),
      waitingFor: new Map(),
      claimedCsi: new Map(),
      attaching: new Set(),
      republishable: new Map(),
      ending: new AbortController(),
    };
    this.#pods.set(uid, known);
    return known;
  }

  async #publish(pod: Pod, volume: Volume): Promise<PublishedVolumeResult> {
    try {
      const publication = await resolvePublication(pod, volume, this.#options);
      if (typeof publication === 'string') return { outcome: 'unprocessed', message: publication };
      if ('outcome' in publication) return publication;
      const known = this.#pods.get(podUID(pod));
      if (!known || known.ending.signal.aborted) return podEnds(volume);
      const attachment = publication.toAttach ? await this.#attach(known, volume, publication.toAttach) : noAttachmentNeeded;
      if (attachment.outcome === 'exhausted') return this.#reject(pod, volume);
      if (attachment.outcome !== 'attached') return attachment;
      if (known.ending.signal.aborted) return podEnds(volume);
      const { published, claimedCsi } = publication;
      if (claimedCsi) known.claimedCsi.set(nameInStatus(pod, volume), claimedCsi);
      known.publishing.set(published, pod);
      const reply = await publication
        .publish(this.#options.thread, attachment.publishContext)
        .finally(() => known.publishing.delete(published));
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

  /** The words are upstream's VolumeAttachLimitExceededError. */
  #reject(pod: Pod, volume: Volume): VolumeNotReady {
    const published = this.#pods.get(podUID(pod))?.published;
    const unmounted = volumesToMount(pod).filter((other) => isPublishedHere(other) && published?.has(other.name) !== true);
    const names = `unmounted volumes=[${unmounted.map(({ name }) => name).join(' ')}], unattached volumes=[${volume.name}]`;
    const message = `Node has reached its volume attachment limit, rejecting pod. ${names}, failed to process volumes=[]: context deadline exceeded`;
    this.#options.reject(pod, { reason: 'VolumeAttachmentLimitExceeded', message });
    return { outcome: 'waiting', message };
  }

  async #attach(known: KnownPod, { name }: Volume, toAttach: AttachableVolume): Promise<Attachment> {
    const { attachments } = this.#options;
    if (!attachments) return { outcome: 'failed', message: standalone };
    known.attaching.add(toAttach.specName);
    const setWaiting = (message: string) => known.waitingFor.set(name, message);
    return attachments.untilAttached(toAttach, setWaiting, known.ending.signal).finally(() => known.waitingFor.delete(name));
  }

  /** A failure changes nothing, and is an event; the next sync tries again (upstream with `requiresRepublish`). Never rejects. */
  async #republish(pod: Pod, volume: Volume, known: KnownPod): Promise<void> {
    if (known.republishable.get(volume.name) !== true) return;
    known.republishable.set(volume.name, false);
    const failed = (message: string) =>
      this.#options.events.record({ object: podReference(pod), type: 'Warning', reason: 'FailedMount', message });
    try {
      const publication = await resolvePublication(pod, volume, this.#options);
      if (typeof publication === 'string') return failed(publication);
      if ('outcome' in publication) return failed(publication.message);
      if (known.ending.signal.aborted || !known.published.has(volume.name)) return;
      const attachment = publication.toAttach ? await this.#attach(known, volume, publication.toAttach) : noAttachmentNeeded;
      if (attachment.outcome === 'exhausted') return;
      if (attachment.outcome !== 'attached') return failed(attachment.message);
      const reply = await publication.republish?.(this.#options.thread, attachment.publishContext);
      if (reply?.outcome === 'failed' && !known.ending.signal.aborted) failed(reply.message);
    } catch (err) {
      failed(`MountVolume.SetUp failed for volume ${goQuote(volume.name)} : ${messageOf(err)}`);
    } finally {
      known.republishable.set(volume.name, true);
    }
  }

  /** Lets the server thread show the usage of the volume under its claim. As upstream, the usage of a path of the host is not measured. */
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

  async #unpublish(uid: PodUID, folder: PublishedFolder): Promise<UnpublishedVolumeResult> {
    try {
      const reply = await this.#options.thread.unpublishVolume({ podUID: uid, ...folder });
      if (reply.outcome === 'failed') return { outcome: 'failed', message: reply.message };
      this.#options.attachments?.release(uid, folder.specName);
      return { outcome: 'unpublished' };
    } catch (err) {
      return { outcome: 'failed', message: messageOf(err) };
    }
  }
}

/** True for a volume of a claim or of a CSI driver. The sync tasks set up all other volumes themselves. */
function isPublishedHere({ persistentVolumeClaim, ephemeral, csi }: Volume): boolean {
  return persistentVolumeClaim !== undefined || ephemeral !== undefined || csi !== undefined;
}

const noAttachmentNeeded: Attachment = { outcome: 'attached', publishContext: {} };

function podEnds({ name }: Volume): VolumeNotReady {
  return { outcome: 'waiting', message: `volume ${goQuote(name)} is not mounted: the pod ends` };
}

function waiting(description: string, runningMs: number): VolumeNotReady {
  return { outcome: 'waiting', message: `${description} since ${goDuration(Math.floor(runningMs))}` };
}
