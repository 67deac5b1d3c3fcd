/** Samples the filesystem of the kubelet's root directory: the node's ephemeral storage. */
import { readFilesystemUsage } from '../../shared/state/filesystem-usage.ts';
import { filesystemRows, type FilesystemWriter } from '../../shared/state/filesystem-table.ts';
import { openFilesystems } from '../../shared/state/usage-table.ts';
import type { Clock } from '../../shared/time/clock.ts';

export class RootFilesystem {
  readonly #rootDir: string;
  readonly #clock: Clock;
  readonly #table: FilesystemWriter;
  #isReading = false;

  constructor(rootDir: string, usage: SharedArrayBuffer, clock: Clock) {
    this.#rootDir = rootDir;
    this.#clock = clock;
    this.#table = openFilesystems(usage, ['root']);
  }

  /** Does nothing while an earlier call waits: a filesystem that hangs occupies only one file thread, and its row is not updated. */
  async sample(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      this.#table.put(filesystemRows.root, await readFilesystemUsage(this.#rootDir, this.#clock.now()));
    } finally {
      this.#isReading = false;
    }
  }
}
