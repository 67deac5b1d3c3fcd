/** CPU time and memory of a process and its children, from procfs. */
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly rssBytes: number;
  readonly processes: number;
}

/** USER_HZ: 100 on every Linux that Node runs on. */
export const ticksPerSecond = 100;

/** Returns the usage of a process and its running descendants. Throws when the process does not exist. */
export function readProcessUsage(pid: number): ProcessUsage {
  let cpuSeconds = 0;
  let rssBytes = 0;
  const pids = processTree(pid);
  for (const one of pids) {
    const fields = statFields(one);
    // Fields 14 and 15 of proc(5)'s stat: user and system ticks.
    cpuSeconds += (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
    rssBytes += Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${one}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  }
  return { cpuSeconds, rssBytes, processes: pids.length };
}

/** Returns the fields after the command's closing parenthesis, from field 3 on. */
function statFields(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Returns the process and its running descendants. */
export function processTree(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    try {
      return readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
    } catch {
      return []; // The thread has ended.
    }
  });
  return [pid, ...children.flatMap(processTree)];
}
