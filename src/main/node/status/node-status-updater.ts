/**
 * Reports the Node's status to the API server. Each update computes the status and patches the changes if it changed or was not written for
 * nodeStatusReportFrequency. ClusterNode calls it every nodeStatusUpdateFrequency and on wake-ups, which replace upstream's fast loop at
 * start. Upstream: updateNodeStatus in pkg/kubelet/kubelet_node_status.go.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { nextBackoffMs, withJitter } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { apiPath, isNotFound, type ApiClient } from '../../api/index.ts';
import { nodeReportPatch, statusHasChanged } from './node-status-patch.ts';
import { statusEvent } from './node-conditions.ts';
import type { Node, NodeEvent } from '../node-object.ts';
import type { ComputedNode } from './node-status.ts';
import type { NodeStore, StoredNode } from '../node-store.ts';
import { withRequiredLabels } from '../registration/reconcile-node.ts';

export interface NodeStatusUpdaterDependencies {
  readonly client: ApiClient;
  readonly nodeName: string;
  readonly store: Pick<NodeStore, 'get' | 'observe'>;
  readonly refresh: () => Promise<void>;
  readonly compute: (node: Node) => ComputedNode;
  readonly record: (event: NodeEvent) => void;
  /** Called with the server's Node after each update, with or without a write. */
  readonly onReported: (node: Node) => void;
  /** Called when heartbeats fail repeatedly, because the client's connections may be dead. */
  readonly onRepeatedHeartbeatFailure: () => void;
  /** The setting nodeStatusReportFrequency, which may change. */
  readonly reportFrequencyMs: () => number;
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** Upstream's nodeStatusUpdateRetry. */
const maxAttempts = 5;
/** Upstream retries at once. This back-off spares a failing server. */
const retryBackoff = { initialMs: 100, maxMs: 2000 };
const jitter = 0.5;

export class NodeStatusUpdater {
  readonly #deps: NodeStatusUpdaterDependencies;
  /** Monotonic ms of the last write. Null: this process has not written yet, or the last write has failed. */
  #reportedAtMs: number | null = null;
  /** Jitter of the next periodic report: up to half of the report frequency earlier or later, because many nodes may have changed at once. 0 after it. */
  #reportJitterMs = 0;
  #wasUnschedulable = false;
  #hasRecordedReboot = false;
  #isMissing = false;

  constructor(deps: NodeStatusUpdaterDependencies) {
    this.#deps = deps;
  }

  /** True if the server had no such Node at the last update. */
  get isMissing(): boolean {
    return this.#isMissing;
  }

  /** Runs one update with retries. Calls must not overlap. Never rejects; failures are logged. */
  async update(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, onRepeatedHeartbeatFailure } = this.#deps;
    let delayMs: number | undefined;
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      try {
        await this.#tryUpdate(attempt, signal);
        return;
      } catch (err) {
        if (signal.aborted) return;
        if (attempt > 0) onRepeatedHeartbeatFailure();
        logger.error({ err: messageOf(err), attempt }, 'Error updating node status, will retry');
      }
      if (attempt + 1 === maxAttempts) break;
      delayMs = nextBackoffMs(delayMs, retryBackoff);
      await clock.sleep(withJitter(delayMs, jitter, random), signal).catch(() => {});
      if (signal.aborted) return;
    }
    logger.error({ attempts: maxAttempts }, 'Unable to update node status, will try again with the next heartbeat');
  }

  /** The first attempt uses the cached Node without a GET. Later attempts get the Node, because an outdated cache may have caused the failure. */
  async #tryUpdate(attempt: number, signal: AbortSignal): Promise<void> {
    const { store, refresh, compute } = this.#deps;
    await refresh();
    const known = attempt === 0 ? store.get() : null;
    if (known) this.#isMissing = false;
    const original = known ?? (await this.#get(signal));
    if (!original) return;
    const computed = compute(withRequiredLabels(original));
    const hasChanged =
      computed.node.metadata.labels !== original.metadata.labels || statusHasChanged(original.status, computed.node.status);
    const isDue = this.#isReportDue();
    if (!hasChanged && !isDue) {
      this.#recordResult(original, []);
      return;
    }
    this.#reportJitterMs = hasChanged || this.#reportedAtMs === null ? this.#deps.reportFrequencyMs() * (this.#deps.random() - 0.5) : 0;
    const written = await this.#write(original, computed.node, signal);
    this.#recordResult(written, computed.events);
  }

  #isReportDue(): boolean {
    if (this.#reportedAtMs === null) return true;
    return this.#deps.clock.monotonic() - this.#reportedAtMs >= this.#deps.reportFrequencyMs() + this.#reportJitterMs;
  }

  /** Resolves with null if the Node does not exist. The store observes its creation. */
  async #get(signal: AbortSignal): Promise<StoredNode | null> {
    const { client, nodeName, deadlineMs, logger } = this.#deps;
    try {
      const path = apiPath('api', 'v1', 'nodes', nodeName);
      const node = await client.call<StoredNode>({ method: 'GET', path, trafficClass: 'node', deadlineMs, maxAttempts: 1, signal });
      this.#isMissing = false;
      return node;
    } catch (err) {
      if (!isNotFound(err)) throw err;
      if (!this.#isMissing) logger.error({ node: nodeName }, 'The node does not exist in the API server, its status is not written');
      this.#isMissing = true;
      return null;
    }
  }

  async #write(original: StoredNode, node: Node, signal: AbortSignal): Promise<StoredNode> {
    const { client, nodeName, deadlineMs, store, clock } = this.#deps;
    const body = nodeReportPatch(original, node);
    const path = apiPath('api', 'v1', 'nodes', nodeName, 'status');
    const call = { method: 'PATCH', path, patch: 'strategic', body, trafficClass: 'node', deadlineMs, maxAttempts: 1, signal } as const;
    // After a failed write the next round writes in any case: the lost patch is then for an older version, and is refused if it arrives late.
    this.#reportedAtMs = null;
    // No patch means that not even a heartbeat time differs: the status was written within this second.
    const written = body ? await client.call<StoredNode>(call) : original;
    this.#reportedAtMs = clock.monotonic();
    if (body) store.observe(written);
    return written;
  }

  #recordResult(node: StoredNode, events: readonly NodeEvent[]): void {
    const { record, nodeName, onReported } = this.#deps;
    for (const event of events) {
      // A cached status that still has the old boot ID must not cause a second event.
      if (event.reason === 'Rebooted' && this.#hasRecordedReboot) continue;
      this.#hasRecordedReboot ||= event.reason === 'Rebooted';
      record(event);
    }
    const isUnschedulable = node.spec?.unschedulable ?? false;
    if (isUnschedulable !== this.#wasUnschedulable) {
      record(statusEvent(nodeName, isUnschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable'));
    }
    this.#wasUnschedulable = isUnschedulable;
    onReported(node);
  }
}
