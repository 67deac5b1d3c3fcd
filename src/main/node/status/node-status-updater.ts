/**
 * Keeps the Node's status at the API server true: computed each nodeStatusUpdateFrequency and whenever it is woken, written when it
 * changed or was not written for nodeStatusReportFrequency, as a patch of what changed. Upstream: updateNodeStatus in
 * pkg/kubelet/kubelet_node_status.go; its fast loop at the start is here a wake-up.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { nextBackoffMs, withJitter } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { apiPath, isNotFound, type ApiClient } from '../../api/index.ts';
import { nodeStatusPatch, statusHasChanged } from './node-status-patch.ts';
import { statusEvent } from './conditions.ts';
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
  /** The Node as the server has it now, after a write and also when there was nothing to write. */
  readonly onReported: (node: Node) => void;
  /** Heartbeats fail again and again: connections that look alive may not be. */
  readonly onRepeatedHeartbeatFailure: () => void;
  /** nodeStatusReportFrequency */
  readonly reportFrequencyMs: number;
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** Upstream's nodeStatusUpdateRetry. */
const maxAttempts = 5;
/** Upstream tries again at once; a server in trouble is given some time. */
const retries = { initialMs: 100, maxMs: 2000 };
const jitter = 0.5;

export class NodeStatusUpdater {
  readonly #deps: NodeStatusUpdaterDependencies;
  /** Monotonic ms of the last write; null: none yet by this kubelet. */
  #reportedAtMs: number | null = null;
  /** Spreads the writes of many nodes that changed at once, by up to half the frequency either way; 0 once it has been waited out. */
  #delayMs = 0;
  #wasUnschedulable = false;
  #hasToldReboot = false;
  #isMissing = false;

  constructor(deps: NodeStatusUpdaterDependencies) {
    this.#deps = deps;
  }

  /** At the last look the server had no such Node. */
  get isMissing(): boolean {
    return this.#isMissing;
  }

  /** One round; never two at once. Resolves also when it failed, which it has logged. */
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
      delayMs = nextBackoffMs(delayMs, retries);
      await clock.sleep(withJitter(delayMs, jitter, random), signal).catch(() => {});
      if (signal.aborted) return;
    }
    logger.error({ attempts: maxAttempts }, 'Unable to update node status, will try again with the next heartbeat');
  }

  /** First from the Node as last seen: no GET. What failed may have failed because that was old, so every other try asks for it. */
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
      this.#settle(original, []);
      return;
    }
    this.#delayMs = hasChanged || this.#reportedAtMs === null ? this.#deps.reportFrequencyMs * (this.#deps.random() - 0.5) : 0;
    const written = await this.#write(original, computed.node, signal);
    this.#settle(written, computed.events);
  }

  #isReportDue(): boolean {
    if (this.#reportedAtMs === null) return true;
    return this.#deps.clock.monotonic() - this.#reportedAtMs >= this.#deps.reportFrequencyMs + this.#delayMs;
  }

  /** Null: there is none; it is made by whoever makes it, and seen by the store. */
  async #get(signal: AbortSignal): Promise<StoredNode | null> {
    const { client, nodeName, deadlineMs, logger } = this.#deps;
    try {
      const path = apiPath('api', 'v1', 'nodes', nodeName);
      const node = await client.call<StoredNode>({ method: 'GET', path, trafficClass: 'node', deadlineMs, maxAttempts: 1, signal });
      this.#isMissing = false;
      return node;
    } catch (err) {
      if (!isNotFound(err)) throw err;
      if (!this.#isMissing) logger.error({ node: nodeName }, 'The node is not there at the API server; its status is not written');
      this.#isMissing = true;
      return null;
    }
  }

  async #write(original: StoredNode, node: Node, signal: AbortSignal): Promise<StoredNode> {
    const { client, nodeName, deadlineMs, store, clock } = this.#deps;
    const body = nodeStatusPatch(original, node);
    const path = apiPath('api', 'v1', 'nodes', nodeName, 'status');
    const call = { method: 'PATCH', path, patch: 'strategic', body, trafficClass: 'node', deadlineMs, maxAttempts: 1, signal } as const;
    // Nothing, not even a time, is other than what the server has: it was written this second.
    const written = body ? await client.call<StoredNode>(call) : original;
    this.#reportedAtMs = clock.monotonic();
    if (body) store.observe(written);
    return written;
  }

  #settle(node: StoredNode, events: readonly NodeEvent[]): void {
    const { record, nodeName, onReported } = this.#deps;
    for (const event of events) {
      // Who reads the status late must not tell it again.
      if (event.reason === 'Rebooted' && this.#hasToldReboot) continue;
      this.#hasToldReboot ||= event.reason === 'Rebooted';
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
