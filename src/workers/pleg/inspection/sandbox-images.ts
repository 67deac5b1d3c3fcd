/**
 * Reads the images of sandboxes for the metrics of /metrics/cadvisor, whose series dashboards select by `image!=""`. Only the verbose status has the image.
 * Requests it once for each running sandbox, one sandbox after the other, some seconds after its start, since nothing waits for the image. The image stays
 * empty when the runtime does not name it.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { maxImageBytes } from '../../../shared/state/runtime-snapshot.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { PlegRuntime } from '../pleg-runtime.ts';
import type { SandboxItem } from '../records/pod-record.ts';

export interface SandboxImagesDependencies {
  readonly runtime: Pick<PlegRuntime, 'sandboxInfo'>;
  readonly publish: (item: SandboxItem) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Leaves the first seconds to the start of the pod, or of the kubelet. */
const delayMs = 5000;
/**
 * The longest info that is parsed. The info has the whole configuration of the sandbox: tens of kilobytes, and megabytes with the largest annotations, whose
 * parsing would block the thread.
 */
const maxInfoLength = 1024 * 1024;

export class SandboxImages {
  readonly #deps: SandboxImagesDependencies;
  /** Each item is read once. */
  readonly #requested = new WeakSet<SandboxItem>();
  readonly #queue = new Set<SandboxItem>();
  #isRunning = false;

  constructor(dependencies: SandboxImagesDependencies) {
    this.#deps = dependencies;
  }

  /** Idempotent. Does not wait. */
  request(item: SandboxItem): void {
    if (this.#requested.has(item)) return;
    this.#requested.add(item);
    this.#queue.add(item);
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    const { clock, logger, signal } = this.#deps;
    this.#isRunning = true;
    try {
      await clock.sleep(delayMs, signal);
      for (const item of this.#queue) {
        this.#queue.delete(item);
        // A sandbox that was removed meanwhile has no slot.
        if (item.slot >= 0) await this.#read(item);
      }
    } catch (err) {
      if (!signal.aborted) logger.debug({ err: messageOf(err) }, 'cannot read the images of sandboxes');
    } finally {
      this.#isRunning = false;
    }
  }

  async #read(item: SandboxItem): Promise<void> {
    const { runtime, publish, logger, signal } = this.#deps;
    try {
      const image = imageOfInfo(await runtime.sandboxInfo(item.id, signal));
      if (image === '' || item.slot < 0) return;
      item.image = image;
      publish(item);
    } catch (err) {
      if (signal.aborted) throw err;
      logger.debug({ id: item.id, err: messageOf(err) }, 'cannot read the image of a sandbox');
    }
  }
}

/** containerd and CRI-O have the field `image` in the JSON text `info` of a verbose status. Returns '' without the field, or when a text is too long. */
export function imageOfInfo(info: Readonly<Record<string, string>>): string {
  const text = Object.hasOwn(info, 'info') ? info['info']! : '';
  if (text.length > maxInfoLength) return '';
  try {
    const { image } = JSON.parse(text) as { readonly image?: unknown };
    return typeof image === 'string' && Buffer.byteLength(image) <= maxImageBytes ? image : '';
  } catch {
    return '';
  }
}
