/** Lists of CPUs as the kernel writes them, such as `0-3,8`. Pure. */

/** More than any kernel has (NR_CPUS): a list with a typo must not take all memory. */
const maxCPUs = 65_536;

/** Throws unless the text is a list of CPUs. */
export function parseCPUList(text: string): Set<number> {
  const cpus = new Set<number>();
  for (const part of text.split(',')) {
    const match = /^([0-9]+)(?:-([0-9]+))?$/.exec(part);
    if (!match) throw new Error(`"${part}" is no CPU and no range of CPUs`);
    const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
    if (first > last) throw new Error(`invalid range "${part}" (${first} > ${last})`);
    if (last >= maxCPUs) throw new Error(`"${part}" has a CPU above ${maxCPUs - 1}`);
    for (let cpu = first; cpu <= last; cpu += 1) cpus.add(cpu);
  }
  return cpus;
}
