/**
 * Creates and renews the node's lease in kube-node-lease, the cheap heartbeat that the node controller observes. Upstream:
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
  /** The Node's UID, for the owner reference. Null: not known yet, so no lease is created. */
  readonly nodeUID: () => string | null;
  readonly onRepeatedHeartbeatFailure: () => void;
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

const leaseNamespace = 'kube-node-lease';
/** The renewal interval as a fraction of the lease's duration. This number and the next two are upstream's. */
const renewFraction = 0.25;
const renewJitter = 0.04;
const maxUpdates = 5;
/** Upstream's delays: 200 ms, doubled up to 7 s. */
const retryBackoff = { initialMs: 200, maxMs: 7000 };
const retryJitter = 0.1;

export class NodeLease {
  readonly #options: NodeLeaseOptions;
  readonly #wakeup: Wakeup;
  /** The lease as last returned by the server. Null: the next sync must get it. */
  #latest: Lease | null = null;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
    this.#wakeup = new Wakeup(options.clock);
  }

  /** Called when the Node exists. Creates a missing lease now instead of at the next renewal. */
  wake(): void {
    if (this.#latest === null) this.#wakeup.wake();
  }

  /** Renews the lease until the signal aborts. Does not delete the lease, which expires. */
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

  /** Updates the known version without a GET, since only this kubelet writes the lease. Returns false if the lease is gone or all attempts failed. */
  async #renew(base: Lease, signal: AbortSignal): Promise<boolean> {
    const { nodeName, onRepeatedHeartbeatFailure, logger } = this.#options;
    let [lease, delayMs]: [Lease, number | undefined] = [base, undefined];
    for (let attempt = 0; attempt < maxUpdates; attempt += 1) {
      try {
        const path = apiPath('apis', 'coordination.k8s.io', 'v1', 'namespaces', leaseNamespace, 'leases', nodeName);
        this.#latest = await this.#call({ method: 'PUT', path, body: this.#toRenewedLease(lease) }, signal);
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

  /** Gets or creates the lease. Null: the Node's UID is not known. Retries until the server responds. */
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
        return { lease: await this.#call({ method: 'POST', path: collection, body: this.#newLease() }, signal), isNew: true };
      } catch (err) {
        signal.throwIfAborted();
        logger.error({ err: messageOf(err) }, 'Failed to ensure lease exists, will retry');
        delayMs = await this.#backOff(delayMs, signal);
      }
    }
  }

  #newLease(): Lease {
    const { nodeName } = this.#options;
    return this.#toRenewedLease({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: nodeName, namespace: leaseNamespace },
      spec: { holderIdentity: nodeName },
    });
  }

  /** Also sets the duration, because the configuration may have changed, and the owner, because a lease without one outlives its Node. */
  #toRenewedLease(lease: Lease): Lease {
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
    const delayMs = nextBackoffMs(previousMs, retryBackoff);
    await clock.sleep(withJitter(delayMs, retryJitter, random), signal);
    return delayMs;
  }
}

/** Formats a time as the API's MicroTime. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
