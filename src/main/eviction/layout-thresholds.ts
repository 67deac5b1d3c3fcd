/** The thresholds for the node's filesystems: the same objects for the same layout and the same settings, because the pressure state keeps them as keys. */
import type { EvictionSettings } from './settings.ts';
import { withContainerFsThresholds, type FilesystemLayout, type Threshold } from './thresholds.ts';

export class LayoutThresholds {
  readonly #settings: () => EvictionSettings;
  #key = '';
  #configured: readonly Threshold[] = [];
  #list: readonly Threshold[] = [];

  constructor(settings: () => EvictionSettings) {
    this.#settings = settings;
  }

  /** The thresholds for the layout of the last call of `for`. */
  get list(): readonly Threshold[] {
    return this.#list;
  }

  for(layout: FilesystemLayout): readonly Threshold[] {
    const key = JSON.stringify(layout);
    const configured = this.#settings().thresholds;
    if (this.#key !== key || this.#configured !== configured) {
      this.#key = key;
      this.#configured = configured;
      this.#list = withContainerFsThresholds(configured, layout);
    }
    return this.#list;
  }
}
