/**
 * Waits until a volume may be staged: the API server knows that this node uses it, the attach-detach controller lists it in the Node's `volumesAttached`, and its
 * VolumeAttachment says that it is attached. The watch of the own Node says when, so nothing is polled. Upstream: GenerateVerifyControllerAttachedVolumeFunc in
 * pkg/volume/util/operationexecutor, and WaitForAttach in pkg/volume/csi/csi_attacher.go, which poll each 100 ms.
 */
import { Listeners } from '../../../shared/concurrency/listeners.ts';
import type { VolumeNotReady } from '../../../shared/contracts/published-volumes.ts';
import { cutMessage } from '../../../shared/errors/cut-message.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { attachmentName, uniqueVolumeName } from '../../../shared/kubernetes/attachment-names.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { isNotFound } from '../../api/index.ts';
import type { AttachableVolume } from '../persistent-volumes/persistent-volume-kind.ts';
import { attachError, attachmentStatus, isExhausted, type VolumeAttachment } from './attachment-status.ts';
import { volumeOwner, type StatusWithVolumes, type VolumesInUse } from './volumes-in-use.ts';

export interface AttachmentsOptions {
  readonly volumesInUse: VolumesInUse;
  /** Null: the Node is not known. */
  readonly nodeStatus: () => StatusWithVolumes | null;
  readonly attachment: (name: string) => Promise<VolumeAttachment>;
  /** Called when the node has reached the limit of the driver's volumes. Resolves with whether the pod is to be rejected for it. Never rejects. */
  readonly onExhausted: (driver: string) => Promise<boolean>;
  readonly nodeName: string;
  /** The setting enableControllerAttachDetach. */
  readonly controllerAttaches: boolean;
  /** Syncs the pod: a volume for which it waits is attached. */
  readonly wake: (uid: PodUID) => void;
  readonly clock: Clock;
}

/** `exhausted`: the pod can't run on this node. */
export type Attachment =
  | { readonly outcome: 'exhausted' }
  | { readonly outcome: 'attached'; readonly publishContext: Readonly<Record<string, string>> }
  | VolumeNotReady;

/** After this time the claim and the volume are read again with the pod's next sync, and the attacher's error is read. */
const maxWaitMs = 10_000;

export class Attachments {
  readonly #options: AttachmentsOptions;
  readonly #changed = new Listeners();
  #attached: ReadonlySet<string> = new Set();

  constructor(options: AttachmentsOptions) {
    this.#options = options;
    options.volumesInUse.onReported(() => this.#changed.notify());
  }

  /**
   * Never rejects. `onWaiting` is called with what the volume waits for.
   * @param signal aborted: the pod ends
   */
  async untilAttached(volume: AttachableVolume, onWaiting: (message: string) => void, signal: AbortSignal): Promise<Attachment> {
    const { volumesInUse, controllerAttaches, clock } = this.#options;
    const { podUID, specName, driver, volumeHandle } = volume;
    const ofVolume = `for volume ${goQuote(specName)}`;
    if (!controllerAttaches)
      return {
        outcome: 'failed',
        reason: 'FailedAttachVolume',
        message: `AttachVolume.Attach failed ${ofVolume} : attaching volumes from the kubelet is not supported`,
      };
    const name = uniqueVolumeName(driver, volumeHandle);
    volumesInUse.want(volumeOwner(podUID, specName), name);
    const deadline = new AbortController();
    const stopTimer = clock.after(maxWaitMs, () => deadline.abort());
    const stop = AbortSignal.any([signal, deadline.signal]);
    try {
      for (let reason = this.#notAttached(name); reason !== null; reason = this.#notAttached(name)) {
        const message = `${reason} ${ofVolume}`;
        onWaiting(message);
        if (signal.aborted) return { outcome: 'waiting', message: `volume ${goQuote(specName)} is not attached: the pod ends` };
        if (deadline.signal.aborted) return await this.#afterWait(volume, message);
        await this.#changed.next(stop);
      }
    } finally {
      stopTimer();
    }
    return this.#read(volume);
  }

  /** Called when the Node has changed. Syncs the pods whose volumes are attached now: their syncs may have stopped waiting. */
  onNodeChange(): void {
    const { nodeStatus, volumesInUse, wake } = this.#options;
    const attached = new Set((nodeStatus()?.volumesAttached ?? []).map(({ name }) => name));
    const added = attached.difference(this.#attached);
    this.#attached = attached;
    const uids = [...added].flatMap((name) => volumesInUse.ownersOf(name)).map((owner) => owner.split('/', 1)[0] as PodUID);
    for (const uid of new Set(uids)) wake(uid);
    this.#changed.notify();
  }

  /** Called when the pod's volume has been unpublished. */
  release(podUID: PodUID, specName: string): void {
    this.#options.volumesInUse.release(volumeOwner(podUID, specName));
  }

  /** Upstream's words, or null. */
  #notAttached(name: string): string | null {
    const { volumesInUse, nodeStatus } = this.#options;
    if (!volumesInUse.isReported(name)) return "Volume has not been added to the list of VolumesInUse in the node's volume status";
    const isAttached = nodeStatus()?.volumesAttached?.some((volume) => volume.name === name) ?? false;
    return isAttached ? null : 'Volume not attached according to node status';
  }

  async #read(volume: AttachableVolume): Promise<Attachment> {
    const { volumeHandle } = volume;
    const name = this.#attachmentName(volume);
    try {
      const status = attachmentStatus(await this.#options.attachment(name), volumeHandle);
      return status.attached ? { outcome: 'attached', publishContext: status.publishContext } : failed(volume, status.problem);
    } catch (err) {
      return failed(volume, `volume ${volumeHandle} has GET error for volume attachment ${name}: ${messageOf(err)}`);
    }
  }

  /** The attacher's error does not change the Node: it is read once for each wait. */
  async #afterWait(volume: AttachableVolume, message: string): Promise<Attachment> {
    const { attachment, onExhausted } = this.#options;
    const waiting = { outcome: 'waiting', message, isUnattached: true } as const;
    try {
      const { status } = await attachment(this.#attachmentName(volume));
      if (isExhausted(status) && (await onExhausted(volume.driver))) return { outcome: 'exhausted' };
      const error = attachError(status);
      return error === undefined ? waiting : { ...failed(volume, error), isUnattached: true };
    } catch (err) {
      return isNotFound(err) ? waiting : { ...waiting, message: `${message}: ${messageOf(err)}` };
    }
  }

  #attachmentName({ driver, volumeHandle }: AttachableVolume): string {
    return attachmentName(volumeHandle, driver, this.#options.nodeName);
  }
}

function failed({ specName }: AttachableVolume, problem: string): VolumeNotReady {
  return { outcome: 'failed', message: cutMessage(`MountVolume.WaitForAttach failed for volume ${goQuote(specName)} : ${problem}`) };
}
