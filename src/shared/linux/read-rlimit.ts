/** The node’s limit of tasks and their number. Upstream: pkg/kubelet/stats/pidlimit/pidlimit_linux.go. */
import { readFileSync } from 'node:fs';

export interface Rlimit {
  readonly maxPID: number | undefined;
  readonly tasks: number | undefined;
}

export function readRlimit(): Rlimit {
  const limits = ['pid_max', 'threads-max']
    .map((name) => Number.parseInt(read(`/proc/sys/kernel/${name}`), 10))
    .filter((limit) => limit >= 0);
  return { maxPID: limits.length > 0 ? Math.min(...limits) : undefined, tasks: parseTasks(read('/proc/loadavg')) };
}

/** `1.36 3.49 4.53 2/3518 3715089` has 3518 tasks. */
export function parseTasks(loadavg: string): number | undefined {
  const tasks = Number(/^\S+ \S+ \S+ \d+\/(\d+) \d+/.exec(loadavg)?.[1]);
  return Number.isNaN(tasks) ? undefined : tasks;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
