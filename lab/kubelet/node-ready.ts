/** Waits for a node of a cluster. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../control-plane/control-plane-api.ts';

interface Node {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[] };
}

/** A kubelet is normally Ready a few seconds after its start. */
const readyTimeoutMs = 60_000;
const periodMs = 100;

/**
 * Resolves when the Node is Ready. Rejects with the last reason why it is not.
 * @param findObstacle returns another reason why the node is not ready, or null; it may throw, which ends the waiting
 */
export async function waitUntilNodeReady(
  api: ApiClient,
  nodeName: string,
  findObstacle: () => Promise<string | null> | string | null,
): Promise<void> {
  const endMs = performance.now() + readyTimeoutMs;
  for (;;) {
    const reason = (await findObstacle()) ?? (await whyNotReady(api, nodeName));
    if (reason === null) return;
    if (performance.now() > endMs) throw new Error(`node ${nodeName} is not Ready after ${readyTimeoutMs / 1000} s (${reason})`);
    await sleep(periodMs);
  }
}

/** Returns null when the node is Ready. */
async function whyNotReady(api: ApiClient, nodeName: string): Promise<string | null> {
  const node = await api.find<Node>(`/api/v1/nodes/${nodeName}`);
  if (node === undefined) return `the API server knows no node ${nodeName}`;
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready === undefined) return 'it has reported no status';
  return ready.status === 'True' ? null : `Ready is ${ready.status}: ${ready.message ?? ''}`;
}
