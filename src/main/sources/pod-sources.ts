/** Starts the configured sources and joins their pods. */
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { ApiSource, type ApiSourceOptions } from './api-source.ts';
import { manifestFetcher, type Headers } from './fetch-manifest.ts';
import { FileSource } from './file-source.ts';
import { HttpSource } from './http-source.ts';
import type { DecodeManifest, SourceError } from './manifest-source.ts';
import type { PodSource, PodUpdate } from './merge-pods.ts';
import { createPriorityWarnings } from './static-priority.ts';
import { PodConfig, SourcesReady } from './pod-config.ts';

export interface PodSourcesOptions {
  /** The readiness of the sources that these options configure. */
  readonly ready: SourcesReady;
  readonly nodeName: string;
  /** Empty: no manifests on disk. */
  readonly staticPodPath: string;
  readonly fileCheckFrequencyMs: number;
  /** Empty: no URL. */
  readonly staticPodURL: string;
  readonly staticPodURLHeader: Headers;
  readonly httpCheckFrequencyMs: number;
  /** Null when standalone. */
  readonly api: ApiPodSource | null;
  /** Runs in the sync pool. */
  readonly decode: DecodeManifest;
  /** Called when there may be updates to take; never before `start` has returned. */
  readonly onReport: () => void;
  readonly onEvent: (event: RecordedEvent) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** See ApiSource. `onListed` is called when all pods were listed again and are in the store. */
export interface ApiPodSource extends Pick<ApiSourceOptions, 'client' | 'store' | 'nodeSynced'> {
  readonly onListed: () => void;
}

/** Returns the sources that are configured. */
export function configuredSources({
  staticPodPath,
  staticPodURL,
  hasAPIServer,
}: Pick<PodSourcesOptions, 'staticPodPath' | 'staticPodURL'> & { readonly hasAPIServer: boolean }): readonly PodSource[] {
  const isConfigured: Readonly<Record<PodSource, boolean>> = { file: staticPodPath !== '', http: staticPodURL !== '', api: hasAPIServer };
  return (['file', 'http', 'api'] as const).filter((source) => isConfigured[source]);
}

export class PodSources {
  readonly #config: PodConfig;
  readonly #ready: SourcesReady;
  readonly #file: FileSource | null;
  readonly #http: HttpSource | null;
  readonly #api: ApiSource | null;
  readonly #closeFetcher: () => Promise<void>;

  private constructor(ready: SourcesReady, config: PodConfig, parts: Parts) {
    this.#config = config;
    this.#ready = ready;
    this.#file = parts.file;
    this.#http = parts.http;
    this.#api = parts.api;
    this.#closeFetcher = parts.closeFetcher;
  }

  static start(options: PodSourcesOptions): PodSources {
    const { ready, staticPodPath, staticPodURL, api, fileCheckFrequencyMs, httpCheckFrequencyMs, staticPodURLHeader } = options;
    const config = new PodConfig({ ...options, sources: ready.sources });
    const warnOfPriorities = createPriorityWarnings(options.logger);
    const file =
      staticPodPath === ''
        ? null
        : FileSource.start({
            ...options,
            path: staticPodPath,
            checkFrequencyMs: fileCheckFrequencyMs,
            onPods: (pods, recreated) => {
              warnOfPriorities(pods);
              config.set('file', pods, recreated);
            },
          });
    const apiSource =
      api &&
      ApiSource.start({
        ...options,
        ...api,
        onPods: (pods) => {
          api.onListed();
          config.set('api', pods);
        },
        onChanges: (changes) => config.change('api', changes),
      });
    if (staticPodURL === '') return new PodSources(ready, config, { file, http: null, api: apiSource, closeFetcher: async () => {} });
    const { fetchManifest, close } = manifestFetcher();
    const http = HttpSource.start({
      ...options,
      url: staticPodURL,
      headers: staticPodURLHeader,
      checkFrequencyMs: httpCheckFrequencyMs,
      fetchManifest,
      onPods: (pods) => {
        warnOfPriorities(pods);
        config.set('http', pods);
      },
    });
    return new PodSources(ready, config, { file, http, api: apiSource, closeFetcher: close });
  }

  /** Returns the updates since the last call; see PodConfig. */
  take(): PodUpdate[] {
    return this.#config.take();
  }

  /** Called when the sync loop has handled an update: its source is ready. */
  markHandled({ source }: PodUpdate): void {
    this.#ready.addSource(source);
  }

  /** Whether the API server has listed its pods once. */
  hasApiSynced(): boolean {
    return this.#api?.hasSynced() ?? false;
  }

  /** The current problems of the manifests. */
  errors(): SourceError[] {
    return [...(this.#file?.errors() ?? []), ...(this.#http?.errors() ?? [])];
  }

  /** Stops watching. Pods keep running. */
  async close(): Promise<void> {
    await Promise.all([this.#file?.close(), this.#http?.close(), this.#api?.close()]);
    await this.#closeFetcher();
  }
}

interface Parts {
  readonly file: FileSource | null;
  readonly http: HttpSource | null;
  readonly api: ApiSource | null;
  readonly closeFetcher: () => Promise<void>;
}
