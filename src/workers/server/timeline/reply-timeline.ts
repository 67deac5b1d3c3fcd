/** Answers a request for timelines: of one pod, or the list of the slowest ones. */
import type { TimelineListJson } from '../../../shared/contracts/timeline.ts';
import { accepts, error, methodNotAllowed, notAcceptable, ok, type Reply } from '../../../shared/http/reply.ts';
import type { TableReader } from '../../../shared/state/typed-table.ts';
import { monotonicMs } from '../../../shared/time/clock.ts';
import { readTimeline } from '../../../shared/timeline/pod-timeline.ts';
import { summaryJson, timelineJson } from '../../../shared/timeline/timeline-json.ts';
import { timelineTable, type TimelineFields } from '../../../shared/timeline/timeline-table.ts';
import type { Handler } from '../secure-routes.ts';
import { similarNames } from './similar-names.ts';

/** Pods of a list: the default, and the most that a request gets. */
const listLimits = { default: 20, max: 500 };

export interface TimelineRequest {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
}

/** The handler of `/debug/timeline`. Requests are authorized before. */
export function createTimelineHandler(buffer: SharedArrayBuffer): Handler {
  return async ({ method, query, request }) => replyTimeline(buffer, { method, query, accept: request.headers.accept });
}

/** `pod=<namespace>/<name>` and optionally `uid`: TimelineJson. Without a pod, with an optional `limit`: TimelineListJson. */
export function replyTimeline(buffer: SharedArrayBuffer, { method, query, accept }: TimelineRequest): Reply {
  if (method !== 'GET') return methodNotAllowed('GET');
  if (!accepts(accept, 'application/json')) return notAcceptable('application/json');
  const table = timelineTable.reader(buffer);
  const pod = query.get('pod');
  if (pod !== null) return replyPod(table, pod, query.get('uid'));
  const limit = Number(query.get('limit') ?? listLimits.default);
  if (!Number.isInteger(limit) || limit < 1 || limit > listLimits.max)
    return error(400, `limit must be a number from 1 to ${listLimits.max}`);
  return json(slowest(table, limit));
}

function replyPod(table: TableReader<TimelineFields>, pod: string, uid: string | null): Reply {
  const slash = pod.indexOf('/');
  const [namespace, name] = [pod.slice(0, slash), pod.slice(slash + 1)];
  if (slash < 1 || name === '') return error(400, 'pod must be <namespace>/<name>');
  const row = findRow(
    table,
    (candidate) => candidate.name === name && candidate.namespace === namespace && (uid ?? candidate.uid) === candidate.uid,
  );
  const timeline = row === undefined ? undefined : readTimeline(table, row);
  if (timeline) return json(timelineJson(timeline, monotonicMs()));
  const names = [...identities(table)].map(([, identity]) => `${identity.namespace}/${identity.name}`);
  const similar = similarNames(pod, new Set(names));
  return error(404, `this kubelet has no timeline of pod ${pod}${similar.length === 0 ? '' : `; similar names: ${similar.join(', ')}`}`);
}

interface Identity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly seenAtMs: number;
  readonly isFinished: boolean;
}

function* identities(table: TableReader<TimelineFields>): Generator<[row: number, identity: Identity]> {
  for (let row = 0; row < table.highWater; row += 1) {
    const identity = table.consistently(row, () =>
      table.inUse(row)
        ? {
            namespace: table.peek(row, 'namespace'),
            name: table.peek(row, 'name'),
            uid: table.peek(row, 'uid'),
            seenAtMs: table.peek(row, 'seenAtMs'),
            isFinished: table.peek(row, 'finishedAtMs') !== 0,
          }
        : undefined,
    );
    if (identity) yield [row, identity];
  }
}

/** Returns the row of the pod. Of several pods with one name it prefers one that has not finished, then the newest. */
function findRow(table: TableReader<TimelineFields>, matches: (identity: Identity) => boolean): number | undefined {
  const candidates = [...identities(table)].filter(([, identity]) => matches(identity));
  candidates.sort(([, a], [, b]) => Number(a.isFinished) - Number(b.isFinished) || b.seenAtMs - a.seenAtMs);
  return candidates[0]?.[0];
}

function slowest(table: TableReader<TimelineFields>, limit: number): TimelineListJson {
  const nowMs = monotonicMs();
  const lengths: { readonly row: number; readonly ms: number }[] = [];
  for (let row = 0; row < table.highWater; row += 1) {
    const ms = table.consistently(row, () => (table.inUse(row) ? slowestMs(table, row, nowMs) : undefined));
    if (ms !== undefined) lengths.push({ row, ms });
  }
  lengths.sort((a, b) => b.ms - a.ms);
  const pods = lengths.slice(0, limit).flatMap(({ row }) => {
    const timeline = readTimeline(table, row);
    return timeline ? [summaryJson(timeline, nowMs)] : [];
  });
  return { pods, total: lengths.length };
}

/** The longer one of the pod's start and its termination, from a few columns: a node may have thousands of pods. */
function slowestMs(table: TableReader<TimelineFields>, row: number, nowMs: number): number {
  const seenAtMs = table.peek(row, 'seenAtMs');
  const lengths = (['Ready', 'Termination'] as const).map((phase) => {
    if (table.peek(row, `${phase}.count`) === 0) return 0;
    // The two low bits of `detail` are the outcome: 0 while the phase lasts. The start is in ms after `seenAtMs`, in two cells (span.ts).
    if ((table.peek(row, `${phase}.detail`) & 3) !== 0) return table.peek(row, `${phase}.duration`);
    return nowMs - seenAtMs - table.peek(row, `${phase}.startHigh`) * 2 ** 32 - table.peek(row, `${phase}.start`);
  });
  return Math.max(...lengths);
}

function json(body: object): Reply {
  return ok(JSON.stringify(body), 'application/json');
}
