/** CPU time of everything that runs on this host, its kernel's too: what a burst costs where runtime, API server and kubelet share the cores. */
import { readFileSync } from 'node:fs';
import { ticksPerSecond } from './process-usage.ts';

/** Seconds since the start of the machine in which its cores were at work. Not what a hypervisor took away. */
export function hostCpuSeconds(): number {
  // proc(5)'s first line of stat: user, nice, system, idle, iowait, irq, softirq, …
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]!
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq) / ticksPerSecond;
}
