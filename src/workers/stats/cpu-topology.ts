/** Counts physical cores and sockets in sysfs, as cadvisor does. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface CpuTopology {
  readonly numPhysicalCores: number;
  readonly numSockets: number;
}

/** @param root `/`, or a temporary directory in tests. Processors without topology count as one core each, and one socket. */
export async function readCpuTopology(root: string): Promise<CpuTopology> {
  const directory = join(root, 'sys/devices/system/cpu');
  const names = (await readdir(directory).catch(() => [])).filter((name) => /^cpu\d+$/.test(name));
  const read = (name: string, file: string) => readFile(join(directory, name, 'topology', file), 'utf8').catch(() => null);
  const processors = names.map(async (name) => {
    const [core, socket] = await Promise.all([read(name, 'core_id'), read(name, 'physical_package_id')]);
    return { core: core?.trim() ?? name, socket: socket?.trim() ?? '0' };
  });
  const found = await Promise.all(processors);
  return {
    numPhysicalCores: new Set(found.map(({ core, socket }) => `${socket} ${core}`)).size,
    numSockets: new Set(found.map(({ socket }) => socket)).size,
  };
}
