/** The requests of a node, from the audit log of the API server. Pure. */
import type { AuditEvent } from '../../lab/control-plane/control-plane-access.ts';
import type { Interval } from './statistics.ts';
import { parsePreciseMs } from './timestamps.ts';

/** From the moment when the API server had received the request until it had answered: epoch ms, with fractions. */
export interface NodeRequest extends Interval {
  /** The audit log's verb: get, patch, delete, list. */
  readonly verb: string;
  /** In the plural: pods. */
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly code: number;
}

/** Without watches. */
export function toNodeRequests(events: readonly AuditEvent[], sinceMs: number): NodeRequest[] {
  return events.flatMap(({ verb, objectRef, responseStatus, requestReceivedTimestamp, stageTimestamp }) => {
    const startMs = parsePreciseMs(requestReceivedTimestamp);
    if (verb === 'watch' || !(startMs >= sinceMs)) return [];
    const { resource = '', subresource = '', name = '' } = objectRef ?? {};
    return [{ verb, resource, subresource, name, code: responseStatus?.code ?? 0, startMs, endMs: parsePreciseMs(stageTimestamp) }];
  });
}

const volumeResources: ReadonlySet<string> = new Set(['persistentvolumeclaims', 'persistentvolumes', 'csidrivers', 'volumeattachments']);

/** True for a GET of an object of volumes. */
export function isVolumeGet({ verb, resource }: NodeRequest): boolean {
  return verb === 'get' && volumeResources.has(resource);
}
