/**
 * The command `kubelet image-gc`: prints what the collection of images of the kubelet that runs on this node would do now. It asks that kubelet
 * through its local socket (workers/server/local-socket.ts), so it needs root and no kubeconfig. Loaded by cli.ts.
 */
import type { ImageGcPlan } from '../../../shared/contracts/images.ts';
import { localSocketPath } from '../../../shared/local-socket/socket-path.ts';
import { printableJSON } from '../printable.ts';
import { requestLocal } from '../request-local.ts';
import { runSubcommand } from '../run-subcommand.ts';
import { imageGcHelp, parseImageGcArgs } from './parse-args.ts';
import { renderPlan } from './render-plan.ts';

/** Returns the exit code: 0, or 1 with one line on stderr. */
export function imageGcCommand(args: readonly string[]): Promise<number> {
  return runSubcommand(async () => {
    const parsed = parseImageGcArgs(args);
    if (parsed === 'help') return imageGcHelp;
    const body = await requestLocal(localSocketPath(parsed.rootDir), '/image-gc');
    return parsed.json ? `${printableJSON(body)}\n` : renderPlan(body as ImageGcPlan, Date.now());
  });
}
