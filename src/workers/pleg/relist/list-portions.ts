/**
 * Fetches the runtime's lists in portions, for a runtime without streams whose lists exceed the message limit. The filters of the portions are such that no
 * item that exists during all calls is missed, even if its state changes between them.
 */
import { isResourceExhausted } from '../../../shared/cri/cri-error.ts';
import { forEachParallel } from '../../../shared/concurrency/for-each-parallel.ts';
import {
  ListPodSandboxResponse,
  PodSandboxState,
  type ContainerFilter,
  type PodSandboxFilter,
} from '../../../shared/cri/generated/cri-v1.ts';

type Fetch<Filter> = (filter: Partial<Filter>) => Promise<Uint8Array>;

/** A low limit, because the runtime compares all of its containers with the filter in each call. */
const parallelCalls = 4;

/** No sandbox is missed: one that stops between the two calls is in both replies, and a stopped sandbox never becomes ready again. */
export async function listSandboxesByState(fetch: Fetch<PodSandboxFilter>): Promise<readonly Uint8Array[]> {
  const ready = await fetch({ state: { state: PodSandboxState.SANDBOX_READY } });
  return [ready, await fetch({ state: { state: PodSandboxState.SANDBOX_NOTREADY } })];
}

/** Returns the IDs of the known containers of a sandbox. */
export type KnownContainers = (sandboxID: string) => Iterable<string>;

/**
 * No container is missed: a container never leaves its sandbox, and is removed with it. This kubelet creates no sandbox whose containers exceed the message
 * limit; of such a sandbox only the known containers are listed, with one call each.
 */
export async function listContainersBySandbox(
  sandboxes: readonly Uint8Array[],
  fetch: Fetch<ContainerFilter>,
  knownIn: KnownContainers,
): Promise<readonly Uint8Array[]> {
  const ids = sandboxes.flatMap((message) => ListPodSandboxResponse.decode(message).items.map(({ id }) => id));
  const containers: Uint8Array[] = [];
  await forEachParallel([...new Set(ids)], parallelCalls, async (podSandboxId) => {
    try {
      containers.push(await fetch({ podSandboxId }));
    } catch (err) {
      if (!isResourceExhausted(err)) throw err;
      for (const id of knownIn(podSandboxId)) containers.push(await fetch({ id }));
    }
  });
  return containers;
}
