/** The machine's memory, which upstream shows as the limits of the root cgroup. */
import { readFileSync } from 'node:fs';
import { parseMeminfo } from '../../shared/linux/procfs.ts';

export interface MachineMemory {
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly swapUsedBytes: number;
}

export function readMachineMemory(): MachineMemory {
  const meminfo = parseMeminfo(readFileSync('/proc/meminfo', 'utf8'));
  const swapBytes = meminfo.get('SwapTotal') ?? 0;
  return { memoryBytes: meminfo.get('MemTotal') ?? 0, swapBytes, swapUsedBytes: swapBytes - (meminfo.get('SwapFree') ?? 0) };
}
