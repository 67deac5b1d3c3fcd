/** The sources of a modelled kubelet, which the test sets. The real PodConfig joins them (src/main/sources/pod-sources.ts). */
import { PodConfig, type PodConfigOptions, type PodSource, type PodUpdate, type SourcesReady } from '../../../src/main/sources/index.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';

export class ModelSources {
  readonly #config: PodConfig;
  readonly #ready: SourcesReady;

  constructor(ready: SourcesReady, options: Omit<PodConfigOptions, 'sources'>) {
    this.#config = new PodConfig({ ...options, sources: ready.sources });
    this.#ready = ready;
  }

  /** Reports all pods of the source. */
  set(source: PodSource, pods: readonly Pod[]): void {
    this.#config.set(source, pods);
  }

  take(): PodUpdate[] {
    return this.#config.take();
  }

  markHandled({ source }: PodUpdate): void {
    this.#ready.addSource(source);
  }

  hasApiSynced(): boolean {
    return true;
  }
}
