/**
 * The node's lease in kube-node-lease: the cheap heartbeat by which the node controller knows that the kubelet lives. Upstream:
 * component-helpers/apimachinery/lease.
 */
import type { V1Lease } from '@kubernetes/client-node';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Wire } from '../../shared/kubernetes/api.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { nextBackoffMs, withJitter } from '../../shared/time/backoff.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { apiPath, isConflict, isNotFound, type ApiCall, type ApiClient } from '../api/index.ts';
import { Wakeup } from '../../shared/concurrency/wakeup.ts';

export type Lease = Wire<V1Lease>;

export interface NodeLeaseOptions {
  readonly client: ApiClient;
  readonly nodeName: string;
  readonly durationSeconds: number;
  /** The Node's UID, for the owner reference; null: not known yet, and no lease is made. */
  readonly nodeUID: () => string | null;
  readonly onRepeatedHeartbeatFailure: () => void;
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

const leaseNamespace = 'kube-node-lease';
/** Of the lease's duration. */
const renewFraction = 0.25;
const renewJitter = 0.04;
const maxUpdates = 5;
const retries = { initialMs: 200, maxMs: 7000 };
const retryJitter = 0.1;

export class NodeLease {
  readonly #options: NodeLeaseOptions;
  readonly #wakeup: Wakeup;
  /** As the server has it, as far as is known; null: it must be asked. */
  #latest: Lease | null = null;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
    this.#wakeup = new Wakeup(options.clock);
  }

  /** The Node is there now: a lease that could not be made before need not wait for the next time. */
  wake(): void {
    if (this.#latest === null) this.#wakeup.wake();
  }

  /** Renews until the signal aborts. The lease stays: it ends by itself. */
  async run(signal: AbortSignal): Promise<void> {
    const { durationSeconds, random, logger } = this.#options;
    const intervalMs = durationSeconds * 1000 * renewFraction;
    while (!signal.aborted) {
      try {
        await this.#sync(signal);
      } catch (err) {
        if (!signal.aborted) logger.error({ err: messageOf(err), retryAfterMs: intervalMs }, 'Renewing the node lease failed');
      }
      await this.#wakeup.next(withJitter(intervalMs, renewJitter, random), signal);
    }
  }

  async #sync(signal: AbortSignal): Promise<void> {
    if (this.#latest && (await this.#renew(this.#latest, signal))) return;
    const { lease, isNew } = await this.#ensure(signal);
    this.#latest = lease;
    if (lease && !isNew) await this.#renew(lease, signal);
  }

  /** With the version that is known: nobody else writes it, so there is no GET. False: it is gone, or all tries failed. */
  async #renew(base: Lease, signal: AbortSignal): Promise<boolean> {
    const { nodeName, onRepeatedHeartbeatFailure, logger } = this.#options;
    let [lease, delayMs]: [Lease, number | undefined] = [base, undefined];
    for (let attempt = 0; attempt < maxUpdates; attempt += 1) {
      try {
        const path = apiPath('apis', 'coordination.k8s.io', 'v1', 'namespaces', leaseNamespace, 'leases', nodeName);
        this.#latest = await this.#call({ method: 'PUT', path, body: this.#renewed(lease) }, signal);
        return true;
      } catch (err) {
        signal.throwIfAborted();
        if (isNotFound(err)) return false;
        logger.warn({ err: messageOf(err), attempt }, 'Failed to update lease');
        if (isConflict(err)) {
          const ensured = await this.#ensure(signal);
          if (ensured.isNew || !ensured.lease) {
            this.#latest = ensured.lease;
            return true;
          }
          lease = ensured.lease;
          continue;
        }
        if (attempt > 0) onRepeatedHeartbeatFailure();
        delayMs = await this.#backOff(delayMs, signal);
      }
    }
    return false;
  }

  /** The lease that there is, or a new one. Null: the Node is not known. Tries until the server answers. */
  async #ensure(signal: AbortSignal): Promise<{ readonly lease: Lease | null; readonly isNew: boolean }> {
    const { nodeName, nodeUID, logger } = this.#options;
    const collection = apiPath('apis', 'coordination.k8s.io', 'v1', 'namespaces', leaseNamespace, 'leases');
    for (let delayMs: number | undefined; ;) {
      try {
        const lease = await this.#call({ method: 'GET', path: `${collection}${apiPath(nodeName)}` }, signal).catch((err: unknown) => {
          if (isNotFound(err)) return null;
          throw err;
        });
        if (lease) return { lease, isNew: false };
        if (nodeUID() === null) return { lease: null, isNew: false };
        return { lease: await this.#call({ method: 'POST', path: collection, body: this.#new() }, signal), isNew: true };
      } catch (err) {
        signal.throwIfAborted();
        logger.error({ err: messageOf(err) }, 'Failed to ensure lease exists, will retry');
        delayMs = await this.#backOff(delayMs, signal);
      }
    }
  }

  #new(): Lease {
    const { nodeName } = this.#options;
    return this.#renewed({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: nodeName, namespace: leaseNamespace },
      spec: { holderIdentity: nodeName },
    });
  }

  /** Its duration too: the configuration may have changed since it was made. Without an owner it would outlive its Node. */
  #renewed(lease: Lease): Lease {
    const { nodeName, nodeUID, durationSeconds, clock } = this.#options;
    const uid = nodeUID();
    const hasOwner = (lease.metadata?.ownerReferences ?? []).length > 0;
    const ownerReferences = hasOwner || uid === null ? {} : { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid }] };
    return {
      ...lease,
      metadata: { ...lease.metadata, ...ownerReferences },
      spec: { ...lease.spec, leaseDurationSeconds: durationSeconds, renewTime: microTime(clock.now()) },
    };
  }

  #call(call: Pick<ApiCall, 'method' | 'path' | 'body'>, signal: AbortSignal): Promise<Lease> {
    const { client, deadlineMs } = this.#options;
    return client.call<Lease>({ ...call, trafficClass: 'lease', deadlineMs, maxAttempts: 1, signal });
  }

  async #backOff(previousMs: number | undefined, signal: AbortSignal): Promise<number> {
    const { clock, random } = this.#options;
    const delayMs = nextBackoffMs(previousMs, retries);
    await clock.sleep(withJitter(delayMs, retryJitter, random), signal);
    return delayMs;
  }
}

/** As the API's MicroTime. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
