/**
 * Creates the Node in the API server, or updates an existing one for this kubelet. Retries until it succeeds. Upstream: registerWithAPIServer
 * in pkg/kubelet/kubelet_node_status.go.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { nextBackoffMs, withJitter } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { ApiError, apiPath, isAlreadyExists, type ApiClient } from '../../api/index.ts';
import { nodeStatusPatch } from '../status/node-status-patch.ts';
import type { Node } from '../node-object.ts';
import type { ComputedNode } from '../status/node-status.ts';
import type { StoredNode } from '../node-store.ts';
import { reconcileNode } from './reconcile-node.ts';

export interface RegistrationDependencies {
  readonly client: ApiClient;
  /** Returns the Node to register, in its current state. */
  readonly initial: () => ComputedNode;
  /** Called before each attempt. Rereads the inputs of the Node. */
  readonly refresh: () => Promise<void>;
  /** Resolves with true without a checkpoint of the device manager: the devices that an existing Node lists may be gone. */
  readonly resetExtendedResources: () => Promise<boolean>;
  /** True while the gate KubeletRegistrationGetOnExistsOnly is off: a kubelet that may not create its Node checks whether it exists. */
  readonly getWhenForbidden: boolean;
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

export interface Registration {
  readonly node: StoredNode;
  readonly isNew: boolean;
  /** The Node that was to be created, with its events. */
  readonly initial: ComputedNode;
}

/** Upstream's delays: 100 ms, doubled up to 7 s. */
const retryBackoff = { initialMs: 100, maxMs: 7000 };
const jitter = 0.1;

/** Rejects only with the signal's reason. */
export async function registerNode(deps: RegistrationDependencies, signal: AbortSignal): Promise<Registration> {
  const { clock, random, logger } = deps;
  for (let delayMs: number | undefined; ;) {
    try {
      await deps.refresh();
      const initial = deps.initial();
      const { name } = initial.node.metadata;
      logger.info({ node: name }, 'Attempting to register node');
      const registered = await tryRegister(deps, initial, signal);
      logger.info({ node: name, isNew: registered.isNew }, 'Successfully registered node');
      return registered;
    } catch (err) {
      signal.throwIfAborted();
      const retryAfterMs = err instanceof ApiError ? (err.retryAfterMs ?? 0) : 0;
      delayMs = nextBackoffMs(delayMs, retryBackoff);
      const waitMs = withJitter(Math.max(delayMs, retryAfterMs), jitter, random);
      logger.error({ err: messageOf(err), retryAfterMs: Math.round(waitMs) }, 'Unable to register node with API server, will retry');
      await clock.sleep(waitMs, signal);
    }
  }
}

async function tryRegister(deps: RegistrationDependencies, initial: ComputedNode, signal: AbortSignal): Promise<Registration> {
  const { client, deadlineMs, logger } = deps;
  const { name } = initial.node.metadata;
  const common = { trafficClass: 'node', deadlineMs, maxAttempts: 1, signal } as const;
  try {
    const node = await client.call<StoredNode>({ ...common, method: 'POST', path: '/api/v1/nodes', body: initial.node });
    return { node, isNew: true, initial };
  } catch (err) {
    const isForbidden = err instanceof ApiError && err.code === 403;
    if (!isAlreadyExists(err) && !(isForbidden && deps.getWhenForbidden)) throw err;
  }
  const existing = await client.call<StoredNode>({ ...common, method: 'GET', path: apiPath('api', 'v1', 'nodes', name) });
  logger.info({ node: name }, 'Node was previously registered');
  const currentNode = await setProviderID(deps, initial.node, existing, signal);
  const reconciledNode = reconcileNode(initial.node, currentNode, { resetExtendedResources: await deps.resetExtendedResources() });
  const body = nodeStatusPatch(currentNode, reconciledNode);
  if (!body) return { node: currentNode, isNew: false, initial };
  const path = apiPath('api', 'v1', 'nodes', name, 'status');
  const node = await client.call<StoredNode>({ ...common, method: 'PATCH', path, patch: 'strategic', body });
  return { node, isNew: false, initial };
}

/** Sets the provider ID of a Node without one; the field is immutable afterwards. A rejected update does not prevent the registration. */
async function setProviderID(
  { client, deadlineMs, logger }: RegistrationDependencies,
  initial: Node,
  existing: StoredNode,
  signal: AbortSignal,
): Promise<StoredNode> {
  const { providerID = '' } = initial.spec ?? {};
  if (providerID === '' || existing.spec?.providerID) return existing;
  const path = apiPath('api', 'v1', 'nodes', existing.metadata.name);
  try {
    const body = { spec: { providerID } };
    const call = { method: 'PATCH', path, patch: 'merge', body, trafficClass: 'node', deadlineMs, maxAttempts: 1, signal } as const;
    return await client.call<StoredNode>(call);
  } catch (err) {
    signal.throwIfAborted();
    logger.warn({ node: existing.metadata.name, providerID, err: messageOf(err) }, 'Unable to set the provider ID of the node');
    return existing;
  }
}
