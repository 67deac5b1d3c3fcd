/**
 * The command `kubelet timeline [<namespace>/<pod>]`: prints the timeline of a pod of the kubelet that runs on this node, or the slowest pods. It asks
 * that kubelet through its local socket (workers/server/local-socket.ts), so it needs root and no kubeconfig. Loaded by cli.ts.
 */
import type { TimelineJson, TimelineListJson } from '../../../shared/contracts/timeline.ts';
import { localSocketPath } from '../../../shared/local-socket/socket-path.ts';
import { parseTimelineArgs, timelineHelp } from './parse-args.ts';
import { renderList } from './render-list.ts';
import { renderTimeline } from './render-timeline.ts';
import { printableJSON } from '../printable.ts';
import { requestLocal } from '../request-local.ts';
import { runSubcommand } from '../run-subcommand.ts';

/** The width of a chart: that of the terminal, within readable limits. */
const chartWidth = { min: 60, max: 160, withoutTerminal: 100 };

/** Returns the exit code: 0, or 1 with one line on stderr. */
export function timelineCommand(args: readonly string[]): Promise<number> {
  return runSubcommand(async () => {
    const parsed = parseTimelineArgs(args);
    if (parsed === 'help') return timelineHelp;
    const { pod, rootDir, json, limit } = parsed;
    const query: Record<string, string> = pod === undefined ? { limit: String(limit) } : { pod };
    const body = await requestLocal(localSocketPath(rootDir), '/timeline', query);
    if (json) return `${printableJSON(body)}\n`;
    const width = Math.min(chartWidth.max, Math.max(chartWidth.min, process.stdout.columns ?? chartWidth.withoutTerminal));
    return pod === undefined ? renderList(body as TimelineListJson) : renderTimeline(body as TimelineJson, width);
  });
}
