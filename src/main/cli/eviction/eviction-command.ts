/**
 * The command `kubelet eviction`: prints what the eviction manager of the kubelet that runs on this node would do now. It asks that kubelet through its
 * local socket (workers/server/local-socket.ts), so it needs root and no kubeconfig. Loaded by cli.ts.
 */
import type { EvictionPlan } from '../../../shared/contracts/eviction.ts';
import { localSocketPath } from '../../../shared/local-socket/socket-path.ts';
import { printableJSON } from '../printable.ts';
import { requestLocal } from '../request-local.ts';
import { runSubcommand } from '../run-subcommand.ts';
import { evictionHelp, parseEvictionArgs } from './parse-args.ts';
import { renderEvictionPlan } from './render-plan.ts';

/** Returns the exit code: 0, or 1 with one line on stderr. */
export function evictionCommand(args: readonly string[]): Promise<number> {
  return runSubcommand(async () => {
    const parsed = parseEvictionArgs(args);
    if (parsed === 'help') return evictionHelp;
    const { rootDir, json, signal } = parsed;
    const body = await requestLocal(localSocketPath(rootDir), '/eviction', signal === undefined ? {} : { signal });
    return json ? `${printableJSON(body)}\n` : renderEvictionPlan(body as EvictionPlan, Date.now());
  });
}
