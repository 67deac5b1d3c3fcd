/** Runs one command of iptables for main (main/network-chains/). The command is a child process: it may wait for the host's lock, or hang in the kernel. */
import type { RunIPTablesResult, RunIPTablesTask } from '../../../shared/contracts/pod-sync/iptables.ts';
import { runPlugin } from '../../../shared/linux/run-plugin.ts';

const commandOf = { IPv4: 'iptables', IPv6: 'ip6tables' } as const;
/** Enough for a version and an error message. */
const maxOutputLength = 1000;

export async function runIPTables({ family, args }: RunIPTablesTask): Promise<RunIPTablesResult> {
  const exit = await runPlugin({ command: commandOf[family], args, env: process.env }, new AbortController().signal);
  if (exit.result !== 'exited') return exit;
  return { result: 'exited', code: exit.code, output: `${exit.stdout}${exit.stderr}`.trim().slice(0, maxOutputLength) };
}
