/**
 * Records which pods may use the present images: pulling an image with one pod's secret must not give other pods access. After upstream's
 * pkg/kubelet/images/pullmanager. The records persist on disk; memory holds a copy, because only this thread writes them. Called by the
 * image manager.
 */
import { join } from 'node:path';
import { messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { RuntimeImage } from '../../../../shared/contracts/images.ts';
import type { Logger } from '../../../../shared/log/logger.ts';
import { mustPullChecks, pulledRecords, pullIntents } from '../../../../shared/metrics/definitions/images.ts';
import type { Clock } from '../../../../shared/time/clock.ts';
import { checkRecordedAccess, requiresVerification, type PodCredentials, type VerificationPolicy } from './must-pull.ts';
import { RecordFiles } from './record-files.ts';
import {
  mergeCredentials,
  withoutTagAndDigest,
  type ImagePullCredentials,
  type ImagePulledRecord,
  type ImagePullIntent,
} from './image-pulled-record.ts';

export type { ImagePullCredentials, ImagePullSecret } from './image-pulled-record.ts';

export interface PullRecordsOptions {
  readonly rootDir: string;
  readonly policy: VerificationPolicy;
  readonly listImages: () => Promise<readonly RuntimeImage[]>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class PullRecords {
  readonly #options: PullRecordsOptions;
  readonly #intentFiles: RecordFiles<ImagePullIntent>;
  readonly #pulledFiles: RecordFiles<ImagePulledRecord>;
  /** The number of running pulls by image. 0 for a pull that an earlier process did not finish. */
  readonly #intents = new Map<string, number>();
  /** The records of pulled images, by the runtime's ID of the image. */
  readonly #pulled = new Map<string, ImagePulledRecord>();

  private constructor(options: PullRecordsOptions) {
    const { rootDir, logger } = options;
    const dir = join(rootDir, 'image_manager');
    this.#options = options;
    this.#intentFiles = new RecordFiles({
      dir: join(dir, 'pulling'),
      kind: 'ImagePullIntent',
      subjectOf: ({ image }) => image,
      countGauge: pullIntents,
      logger,
    });
    this.#pulledFiles = new RecordFiles({
      dir: join(dir, 'pulled'),
      kind: 'ImagePulledRecord',
      subjectOf: ({ imageRef }) => imageRef,
      countGauge: pulledRecords,
      logger,
    });
  }

  /** Reads the records from disk. Resolves interrupted pulls against the runtime's images in the background. */
  static async open(options: PullRecordsOptions): Promise<PullRecords> {
    const records = new PullRecords(options);
    for (const { image } of await records.#intentFiles.readAll()) records.#intents.set(image, 0);
    for (const record of await records.#pulledFiles.readAll()) records.#pulled.set(record.imageRef, record);
    if (records.#intents.size > 0) {
      void records.#resolveIntents([...records.#intents.keys()]).catch((err: unknown) => {
        options.logger.warn({ err: messageOf(err) }, 'Failed to resolve interrupted image pulls');
      });
    }
    return records;
  }

  /** `imageRef` is the runtime's ID of the present image. Rejects with the errors of `pod`. */
  async mustPull(image: string, imageRef: string, pod: PodCredentials): Promise<boolean> {
    if (this.#pulledFiles.isUnreadable(imageRef)) return countCheck('error', true);
    const record = this.#pulled.get(imageRef);
    const pulledByKubelet = record !== undefined || this.#intents.has(image);
    if (!requiresVerification(this.#options.policy, image, pulledByKubelet)) return countCheck('credentialPolicyAllowed', false);
    const access = await checkRecordedAccess(record, image, pod).catch((err: unknown) => {
      countCheck('error', true);
      throw err;
    });
    if (access.mustPull) return countCheck('mustAuthenticate', true);
    if (access.secretToRecord) await this.#record(image, imageRef, { kubernetesSecrets: [access.secretToRecord] });
    return countCheck('credentialRecordFound', false);
  }

  /** Called before a pull. Rejects when the file cannot be written: without a record every pod could use the image. */
  async recordIntent(image: string): Promise<void> {
    const previousIntents = this.#intents.get(image);
    this.#intents.set(image, (previousIntents ?? 0) + 1);
    if (previousIntents !== undefined) return;
    try {
      await this.#intentFiles.write({ image });
    } catch (err) {
      this.#intents.delete(image);
      throw new Error('failed to record image pull intent', { cause: err });
    }
  }

  /** When the record cannot be written, the intent stays. The image then counts as pulled by the kubelet, without access for any pod. */
  async recordPulled(image: string, imageRef: string, credentials: ImagePullCredentials): Promise<void> {
    if (await this.#record(image, imageRef, credentials)) await this.recordEnd(image);
  }

  /** Called at the end of a pull. */
  async recordEnd(image: string): Promise<void> {
    const running = this.#intents.get(image) ?? 0;
    if (running > 1) {
      this.#intents.set(image, running - 1);
      return;
    }
    // Deletes the entry before the file, so a pull that starts meanwhile writes the file again.
    this.#intents.delete(image);
    try {
      await this.#intentFiles.remove(image);
    } catch (err) {
      if (!this.#intents.has(image)) this.#intents.set(image, 0);
      this.#options.logger.error({ image, err: messageOf(err) }, 'Failed to remove image pull intent');
    }
  }

  /**
   * Removes the records of images that the runtime no longer has, except those of pulls since `beganAtMs` (wall clock). `presentImages` are
   * the runtime's references (upstream PruneUnknownRecords).
   */
  async prune(presentImages: ReadonlySet<string>, beganAtMs: number): Promise<void> {
    // The times of records have whole seconds.
    const updatedBeforeMs = Math.floor(beganAtMs / 1000) * 1000;
    for (const [imageRef, { lastUpdatedTime }] of this.#pulled) {
      if (presentImages.has(imageRef) || Date.parse(lastUpdatedTime) >= updatedBeforeMs) continue;
      this.#pulled.delete(imageRef);
      await this.#pulledFiles.remove(imageRef);
    }
  }

  async #record(image: string, imageRef: string, credentials: ImagePullCredentials): Promise<boolean> {
    const { clock, logger } = this.#options;
    const previousRecord = this.#pulled.get(imageRef);
    const now = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    const record = mergeCredentials(previousRecord ?? { lastUpdatedTime: now, imageRef }, withoutTagAndDigest(image), credentials, now);
    if (record === previousRecord) {
      // Only the time in memory changes, for `prune`: a collection in progress may have listed the images before this image was removed and pulled again.
      this.#pulled.set(imageRef, { ...record, lastUpdatedTime: now });
      return true;
    }
    // Set before the write: the record of a pull that ends meanwhile must include this one.
    this.#pulled.set(imageRef, record);
    try {
      await this.#pulledFiles.write(record);
      return true;
    } catch (err) {
      if (this.#pulled.get(imageRef) === record) this.#restore(imageRef, previousRecord);
      logger.error({ image, imageRef, err: messageOf(err) }, 'Failed to write image pulled record');
      return false;
    }
  }

  #restore(imageRef: string, record: ImagePulledRecord | undefined): void {
    if (record) this.#pulled.set(imageRef, record);
    else this.#pulled.delete(imageRef);
  }

  /** The image of an interrupted pull may be present. Records it as pulled by the kubelet, without access for any pod. */
  async #resolveIntents(images: readonly string[]): Promise<void> {
    const interrupted = new Set(images);
    for (const { id, repoTags, repoDigests } of await this.#options.listImages()) {
      for (const image of [...repoTags, ...repoDigests]) {
        if (interrupted.has(image) && (await this.#record(image, id, {})) && this.#intents.get(image) === 0) await this.recordEnd(image);
      }
    }
  }
}

function countCheck(result: string, mustPull: boolean): boolean {
  mustPullChecks.inc({ result });
  return mustPull;
}
