/** The disk of a modelled node, as far as checkpoints are written to it: writes take time, fail while it is full, and are lost with the kubelet. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AllocationManagerOptions } from '../../../src/main/allocation/index.ts';
import { decodeAllocations } from '../../../src/main/allocation/checkpoint.ts';
import type { PodAllocation } from '../../../src/main/allocation/pod-allocation.ts';
import type { Replacement } from '../../../src/shared/linux/write-durably.ts';
import type { KillPoints } from './kill-points.ts';
import type { Life, ModelClock } from './model-clock.ts';

export type CheckpointName = 'allocated_pods_state' | 'actuated_pods_state';
const writeMs = 3;

export class ModelCheckpoints {
  readonly #folder: string;
  /** Writes fail before this time of the clock. */
  fullUntilMs = 0;
  /** Called after each write of allocations. */
  onAllocations: (allocations: ReadonlyMap<string, PodAllocation>) => void = () => {};
  readonly #clock: ModelClock;
  readonly #killPoints: KillPoints;

  constructor(folder: string, clock: ModelClock, killPoints: KillPoints) {
    this.#folder = folder;
    this.#clock = clock;
    this.#killPoints = killPoints;
  }

  /** The disk as a kubelet uses it. */
  diskOf(life: Life): Required<Pick<AllocationManagerOptions, 'read' | 'write' | 'sync'>> {
    return { read: async (path) => readFileSync(path), write: (files) => life.guard(this.#write(life, files)), sync: async () => {} };
  }

  read(name: CheckpointName): ReadonlyMap<string, PodAllocation> {
    const path = join(this.#folder, name);
    return existsSync(path) ? decodeAllocations(readFileSync(path, 'utf8')) : new Map();
  }

  remove(name: CheckpointName): void {
    rmSync(join(this.#folder, name), { force: true });
  }

  spoil(name: CheckpointName): void {
    writeFileSync(join(this.#folder, name), '{"data":"{}","checksum":1}');
  }

  async #write(life: Life, files: readonly Replacement[]): Promise<void> {
    await this.#clock.sleep(writeMs);
    if (this.#clock.monotonic() < this.fullUntilMs) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    this.#killPoints.pass();
    for (const { path, content } of files) {
      if (!life.isAlive) return;
      writeFileSync(path, content);
      if (path.endsWith('/allocated_pods_state')) this.onAllocations(this.read('allocated_pods_state'));
      this.#killPoints.pass();
    }
  }
}
