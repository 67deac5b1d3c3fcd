/**
 * Reads the images of sandboxes, which only the verbose status has: dashboards select the series of /metrics/cadvisor by `image!=""`. Each running sandbox is asked for
 * once, one after the other, and some seconds after its start: nothing waits for it. A runtime that does not name the image leaves it empty.
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

/** The start of the pod, or of the kubelet, comes first. */
const delayMs = 5000;
/** The info has the whole configuration of the sandbox: tens of kilobytes, and megabytes with the largest annotations, which would block the thread. */
const maxInfoLength = 1024 * 1024;

export class SandboxImages {
  readonly #deps: SandboxImagesDependencies;
  readonly #known = new WeakSet<SandboxItem>();
  readonly #queue = new Set<SandboxItem>();
  #isRunning = false;

  constructor(dependencies: SandboxImagesDependencies) {
    this.#deps = dependencies;
  }

  /** Idempotent. Does not wait. */
  request(item: SandboxItem): void {
    if (this.#known.has(item)) return;
    this.#known.add(item);
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

/** containerd and CRI-O have the field `image` in the JSON text `info` of a verbose status. Empty without one, and when it is too long. */
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
