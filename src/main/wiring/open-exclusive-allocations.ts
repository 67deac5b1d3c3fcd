/** Opens the providers of exclusive resources such as devices and the IDs of user namespaces, and lets them follow the lives of pods. */
import { ExclusiveAllocations, openAllocationProviders } from '../allocation/index.ts';
import { isPodRunning } from '../pods/pod-running.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { NodeInfoSource } from '../node/index.ts';

export interface ExclusiveAllocationsStart extends Pick<KubeletContext, 'random' | 'options' | 'log' | 'shutdown' | 'podLifecycle'> {
  readonly nodeInfo: Pick<NodeInfoSource, 'current'>;
  readonly cache: RuntimeStatusCache;
}

export async function openExclusiveAllocations({
  random,
  options,
  log,
  shutdown,
  podLifecycle,
  nodeInfo,
  cache,
}: ExclusiveAllocationsStart): Promise<ExclusiveAllocations> {
  const providers = await openAllocationProviders({ options, runtimeHandlers: () => nodeInfo.current().runtimeHandlers, random, log });
  const exclusiveAllocations = new ExclusiveAllocations(providers, log('allocation'));
  shutdown.register('exclusive-allocations', () => exclusiveAllocations.close());
  podLifecycle.register({
    name: 'exclusive-allocations',
    finished: (uid) => void exclusiveAllocations.release(uid),
    keepOnly: (known) => exclusiveAllocations.releaseOrphans((uid) => known.has(uid) || isPodRunning(cache.get(uid))),
  });
  return exclusiveAllocations;
}
