/** How busy the host is: the CPU time of all its processes since boot, and the pressure on its CPUs. */
import { readFileSync } from 'node:fs';

export interface CpuTimes {
  /** Seconds since the boot. */
  readonly atSeconds: number;
  /** User, nice, system and interrupt time of all CPUs. */
  readonly busySeconds: number;
}

const ticksPerSecond = 100;

export function readCpuTimes(): CpuTimes {
  return parseCpuTimes(readFileSync('/proc/uptime', 'utf8'), readFileSync('/proc/stat', 'utf8'));
}

/** Parses /proc/uptime, and the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, … */
export function parseCpuTimes(uptime: string, stat: string): CpuTimes {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = stat.split('\n')[0]!.split(/\s+/).slice(1).map(Number);
  return { atSeconds: Number.parseFloat(uptime), busySeconds: (user + nice + system + irq + softirq) / ticksPerSecond };
}

/** The share of the last ten seconds in which a process waited for a CPU, in percent. 100: the kernel does not report it. */
export function readCpuPressure(): number {
  try {
    return Number(/^some avg10=([\d.]+)/.exec(readFileSync('/proc/pressure/cpu', 'utf8'))?.[1] ?? 100);
  } catch {
    return 100;
  }
}
