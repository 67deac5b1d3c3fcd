/** Stores the machine's information in the usage table, and finds the mounts of its devices. Called with each sample of usage. */
import type { Clock } from '../../shared/time/clock.ts';
import { readCpuTopology } from './cpu-topology.ts';
import { readMachineInfo } from './machine-info.ts';
import type { NodeFilesystems } from './node-filesystems.ts';
import type { UsageSampler } from './usage-sampler.ts';

export interface MachineSamplerOptions {
  readonly rootDir: string;
  /** Gate HugepageAwareEviction: huge pages are not available memory. */
  readonly hugePageAware: boolean;
  readonly sampler: Pick<UsageSampler, 'setMachine'>;
  readonly nodeFilesystems: Pick<NodeFilesystems, 'findMounts'>;
  readonly clock: Clock;
}

/** Upstream reads the machine again every five minutes (cadvisor's update_machine_info_interval). */
const periodMs = 300_000;

export class MachineSampler {
  readonly #options: MachineSamplerOptions;
  #sampledAtMs = -Infinity;

  constructor(options: MachineSamplerOptions) {
    this.#options = options;
  }

  /** Does nothing within five minutes of the last sample. */
  async sample(): Promise<void> {
    const { rootDir, hugePageAware, sampler, nodeFilesystems, clock } = this.#options;
    if (clock.monotonic() - this.#sampledAtMs < periodMs) return;
    this.#sampledAtMs = clock.monotonic();
    const [info, topology] = await Promise.all([readMachineInfo({ root: '/', rootDir }), readCpuTopology('/')]);
    const { numCores, memoryBytes, swapBytes, hugePages, machineID, systemUUID, bootID, kernelVersion, osImage } = info;
    sampler.setMachine({
      numCores,
      ...topology,
      memoryBytes,
      swapBytes,
      hugePagesBytes: hugePageAware ? hugePages.reduce((sum, { pageSizeKiB, pages }) => sum + pageSizeKiB * 1024 * pages, 0) : 0,
      machineID,
      systemUUID,
      bootID,
      kernelVersion,
      osImage,
    });
    nodeFilesystems.findMounts();
  }
}
