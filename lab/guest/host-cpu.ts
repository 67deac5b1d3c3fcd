/**
 * Chooses the host's CPU for a guest. A system call of a guest's process is two switches between that process and the kernel of the guest: on one CPU
 * they take 10 µs, between two CPUs 50 µs, of which 40 µs are CPU time (`dd bs=1` in a guest, on a virtual host of two CPUs).
 */
import { readFileSync } from 'node:fs';
import { parseCPUList } from '../../src/shared/linux/cpu-list.ts';

let chosen = 0;

/** Guests of one process, and of several lanes of the tests, are spread over the CPUs that this process may use. */
export function nextHostCPU(): number {
  const [, list = '0'] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const cpus = [...parseCPUList(list)];
  const lane = Number(process.env['KUBELET_TEST_LANE'] ?? 0);
  const cpu = cpus[(lane + chosen) % cpus.length] ?? 0;
  chosen += 1;
  return cpu;
}
