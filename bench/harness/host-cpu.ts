/** CPU time of the whole host including the kernel: the cost of a burst when runtime, API server and kubelet share the cores. */
import { readFileSync } from 'node:fs';
import { ticksPerSecond } from './process-usage.ts';

/** Returns the busy seconds of all cores since boot, without steal time. */
export function hostCpuSeconds(): number {
  // proc(5)'s first line of stat: user, nice, system, idle, iowait, irq, softirq, …
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]!
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq) / ticksPerSecond;
}
