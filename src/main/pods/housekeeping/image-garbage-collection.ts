/**
 * Starts the collection of images every five minutes, and records its failures as events (upstream StartGarbageCollection in
 * pkg/kubelet/kubelet.go). The images thread collects, and decides which images go.
 */
import type { ImageGcReply, NeededImages } from '../../../shared/contracts/images.ts';
import { toFailure, type Failure } from '../../../shared/errors/kubelet-error.ts';
import { nodeReference } from '../../../shared/kubernetes/node-reference.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { EventSink } from '../../events/index.ts';

export interface ImageGarbageCollectionOptions {
  readonly neededImages: () => NeededImages;
  /** The promise must always settle. */
  readonly collectImages: (needed: NeededImages) => Promise<ImageGcReply>;
  readonly nodeName: string;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Upstream's ImageGCPeriod. */
const periodMs = 5 * 60_000;
/** Failures that have an event of their own. */
const ownEvents: ReadonlySet<string> = new Set(['FreeDiskSpaceFailed', 'InvalidDiskCapacity']);

export class ImageGarbageCollection {
  readonly #options: ImageGarbageCollectionOptions;
  #collectAtMs = -Infinity;
  #isCollecting = false;
  #hasFailed = false;

  constructor(options: ImageGarbageCollectionOptions) {
    this.#options = options;
  }

  /** Called with each housekeeping. Does not wait for the collection. */
  runIfDue(): void {
    const { neededImages, collectImages, clock } = this.#options;
    const nowMs = clock.monotonic();
    if (this.#isCollecting || nowMs < this.#collectAtMs) return;
    this.#isCollecting = true;
    this.#collectAtMs = nowMs + periodMs;
    collectImages(neededImages())
      .then(
        ({ failure }) => this.#report(failure),
        (err: unknown) => this.#report(toFailure(err, 'ImageGCFailed')),
      )
      .finally(() => (this.#isCollecting = false));
  }

  #report(failure: Failure | null): void {
    const { logger } = this.#options;
    if (!failure) {
      if (this.#hasFailed) logger.info({}, 'Image garbage collection succeeded');
      this.#hasFailed = false;
      return;
    }
    const { reason, message } = failure;
    if (ownEvents.has(reason)) this.#warn(reason, message);
    // As upstream, only repeated failures have this event: a runtime that starts may not have measured its disk yet.
    if (this.#hasFailed) this.#warn('ImageGCFailed', message);
    const outcome = this.#hasFailed
      ? 'Image garbage collection failed multiple times in a row'
      : 'Image garbage collection failed once. Stats initialization may not have completed yet';
    logger.error({ err: message }, outcome);
    this.#hasFailed = true;
  }

  #warn(reason: string, message: string): void {
    const { events, nodeName } = this.#options;
    events.record({ object: nodeReference(nodeName), type: 'Warning', reason, message });
  }
}
