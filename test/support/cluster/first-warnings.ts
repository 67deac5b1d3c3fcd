/**
 * Finds the first warning about each of several pods, and the first version of a pod that satisfies a condition. Pods and events share
 * etcd's revisions, which give the order of writes regardless of the order of watch events.
 */
import assert from 'node:assert/strict';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { ApiEvent } from './cluster-node.ts';
import type { TestCluster } from './control-plane.ts';
import type { PodWatch } from './pod-watch.ts';

export type WrittenEvent = ApiEvent & { readonly metadata: { readonly resourceVersion: string } };

/** The current revision of the namespace. */
export async function revisionOf({ api }: TestCluster, namespace: string): Promise<string> {
  return (await api.get<{ metadata: { resourceVersion: string } }>(`/api/v1/namespaces/${namespace}/events`)).metadata.resourceVersion;
}

/** Waits for a warning about each of the pods. Returns the first one after the revision `since` per pod name. */
export async function firstWarnings(
  { api }: TestCluster,
  namespace: string,
  since: string,
  names: readonly string[],
): Promise<Map<string, WrittenEvent>> {
  const warnings = new Map<string, WrittenEvent>();
  const path = `/api/v1/namespaces/${namespace}/events?resourceVersion=${since}`;
  for await (const { object } of api.watch<WrittenEvent>(path, AbortSignal.timeout(90_000))) {
    const { name } = object.involvedObject;
    if (object.type === 'Warning' && names.includes(name) && !warnings.has(name)) warnings.set(name, object);
    if (warnings.size === names.length) break;
  }
  assert.deepEqual([...warnings.keys()].toSorted(), names.toSorted());
  return warnings;
}

/** Fails unless the API server had a version of the pod that satisfies the condition before it had the event. */
export function assertStatusCameFirst(pods: PodWatch, event: WrittenEvent, matches: (pod: Pod) => boolean): void {
  const { name } = event.involvedObject;
  const first = pods.seen(name).find(matches);
  assert.ok(first, `${name} never matched; its status is ${JSON.stringify(pods.get(name)?.status)}`);
  const isBefore = Number(first.metadata.resourceVersion) < Number(event.metadata.resourceVersion);
  assert.ok(isBefore, `the warning "${event.message}" of ${name} came first`);
}
