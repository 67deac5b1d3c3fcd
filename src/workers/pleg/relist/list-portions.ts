/**
 * The runtime's lists in portions, for a runtime without streams whose lists exceed its message limit. Filters choose the portions so that no item that
 * exists all the time is missed, although it changes meanwhile.
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

/** The runtime compares all of its containers for each call. */
const parallelCalls = 4;

/** A sandbox that stops between the calls comes twice, and never becomes ready again. */
export async function listSandboxesByState(fetch: Fetch<PodSandboxFilter>): Promise<readonly Uint8Array[]> {
  const ready = await fetch({ state: { state: PodSandboxState.SANDBOX_READY } });
  return [ready, await fetch({ state: { state: PodSandboxState.SANDBOX_NOTREADY } })];
}

/** Returns the IDs of the known containers of a sandbox. */
export type KnownContainers = (sandboxID: string) => Iterable<string>;

/**
 * A container never leaves its sandbox, and is removed with it. Of a sandbox whose containers exceed the limit, which are not this kubelet's, only the known ones
 * are listed, each for itself.
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
