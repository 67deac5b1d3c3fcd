/**
 * The command `kubelet timeline [<namespace>/<pod>]`: prints the timeline of a pod of the kubelet that runs on this node, or the slowest pods. It asks
 * that kubelet through its local socket (workers/server/timeline/), so it needs root and no kubeconfig. Loaded by cli.ts.
 */
import type { TimelineJson, TimelineListJson } from '../../../shared/contracts/timeline.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { timelineSocketPath } from '../../../shared/timeline/socket-path.ts';
import { parseTimelineArgs, timelineHelp } from './parse-args.ts';
import { renderList } from './render-list.ts';
import { renderTimeline } from './render-timeline.ts';
import { printable, printableJSON } from './printable.ts';
import { requestTimeline } from './request-timeline.ts';

/** The width of a chart: that of the terminal, within readable limits. */
const chartWidth = { min: 60, max: 160, withoutTerminal: 100 };

/** Returns the exit code: 0, or 1 with one line on stderr. */
export async function timelineCommand(args: readonly string[]): Promise<number> {
  try {
    const parsed = parseTimelineArgs(args);
    if (parsed === 'help') return print(timelineHelp);
    const { pod, rootDir, json, limit } = parsed;
    const query: Record<string, string> = pod === undefined ? { limit: String(limit) } : { pod };
    const body = await requestTimeline(timelineSocketPath(rootDir), query);
    if (json) return print(`${printableJSON(body)}\n`);
    const width = Math.min(chartWidth.max, Math.max(chartWidth.min, process.stdout.columns ?? chartWidth.withoutTerminal));
    return print(pod === undefined ? renderList(body as TimelineListJson) : renderTimeline(body as TimelineJson, width));
  } catch (err) {
    process.stderr.write(`Error: ${printable(messageOf(err))}\n`);
    return 1;
  }
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}
