/**
 * Polls static pods from a URL: one Pod or a PodList (upstream pkg/kubelet/config/http.go). An invalid response removes no pod, and an empty
 * one removes all. The valid pods of a partly invalid list are used.
 */
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podFullName } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { FetchManifest, Headers } from './fetch-manifest.ts';
import { stripURLCredentials } from '../config/strip-url-credentials.ts';
import { keptPodEvent } from './kept-pods.ts';
import { decodeInTime, type DecodeManifest, type SourceError } from './manifest-source.ts';

export interface HttpSourceOptions {
  readonly url: string;
  readonly headers: Headers;
  readonly nodeName: string;
  readonly checkFrequencyMs: number;
  readonly fetchManifest: FetchManifest;
  readonly decode: DecodeManifest;
  readonly onPods: (pods: readonly Pod[]) => void;
  readonly onEvent: (event: RecordedEvent) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The first failures in a row are logged as warnings, the later ones at debug level. */
const loggedFailures = 3;

export class HttpSource {
  readonly #options: HttpSourceOptions;
  readonly #shownURL: string;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #body: Uint8Array | null = null;
  #pods: readonly Pod[] = [];
  /** The decode error of `#body`: an unchanged invalid response stays invalid. */
  #decodeError: string | null = null;
  #error: string | null = null;
  #failures = 0;

  private constructor(options: HttpSourceOptions) {
    this.#options = options;
    this.#shownURL = stripURLCredentials(options.url);
  }

  static start(options: HttpSourceOptions): HttpSource {
    const source = new HttpSource(options);
    options.logger.info({ url: source.#shownURL }, 'Watching URL');
    source.#running = source.#run();
    return source;
  }

  errors(): SourceError[] {
    return this.#error === null ? [] : [{ source: 'http', origin: this.#shownURL, message: this.#error }];
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#poll(signal);
      await this.#options.clock.sleep(this.#options.checkFrequencyMs, signal).catch(() => {});
    }
  }

  async #poll(signal: AbortSignal): Promise<void> {
    try {
      const { fetchManifest, url, headers } = this.#options;
      const body = await fetchManifest(url, headers, signal);
      if (signal.aborted) return;
      if (body.length === 0) {
        this.#body = null;
        // The source has reported: as upstream, with no pods.
        this.#report([]);
        throw new Error(`zero-length data received from ${this.#shownURL}`);
      }
      if (!this.#body || Buffer.compare(body, this.#body) !== 0) await this.#decode(body, signal);
      if (this.#decodeError !== null) throw new Error(this.#decodeError);
      this.#succeed();
    } catch (err) {
      if (!signal.aborted) this.#fail(err);
    }
  }

  async #decode(body: Uint8Array, signal: AbortSignal): Promise<void> {
    const { decode, url, nodeName, clock } = this.#options;
    // The task transfers its copy to the pool; the next response is compared with this one.
    const task = { source: 'http', origin: url, nodeName, content: new Uint8Array(body) } as const;
    const { pods, errors, readable } = await decodeInTime(decode, task, clock, signal);
    if (signal.aborted) return;
    this.#body = body;
    this.#decodeError = errors.length === 0 ? null : errors.join('; ');
    if (readable && errors.length === 0) return this.#report(pods);
    const kept = this.#missingFrom(pods);
    for (const pod of kept) this.#options.onEvent(keptPodEvent(pod, this.#shownURL, this.#decodeError ?? 'it holds no pods'));
    if (pods.length > 0) this.#report([...pods, ...kept]);
  }

  /** Known pods that a partly invalid list does not contain: each may be one of the invalid pods, so it stays. */
  #missingFrom(pods: readonly Pod[]): Pod[] {
    const names = new Set(pods.map(podFullName));
    return this.#pods.filter((pod) => !names.has(podFullName(pod)));
  }

  #report(pods: readonly Pod[]): void {
    this.#pods = pods;
    this.#options.onPods(pods);
  }

  #succeed(): void {
    if (this.#failures > 0) this.#options.logger.info({ url: this.#shownURL }, 'Successfully read pods from URL');
    this.#failures = 0;
    this.#error = null;
  }

  #fail(err: unknown): void {
    const { logger } = this.#options;
    this.#error = messageOf(err);
    const fields = { url: this.#shownURL, err: this.#error };
    if (this.#failures < loggedFailures) logger.warn(fields, 'Failed to read pods from URL');
    else if (this.#failures === loggedFailures)
      logger.warn(fields, 'Failed to read pods from URL. Dropping verbosity of this message to V(4)');
    else logger.debug(fields, 'Failed to read pods from URL');
    this.#failures += 1;
  }
}
