/** User namespaces as an allocation provider: each pod with `hostUsers: false` holds a range of the host's IDs. */
import type { ExclusiveAllocation } from '../../../shared/contracts/pod-sync/allocation.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podUID } from '../../../shared/kubernetes/ids.ts';
import type { AllocatedInRuntime, AllocationProvider, AllocationProviderContext } from '../provider.ts';
import { openUserNamespaces } from './open-user-namespaces.ts';
import type { UserNamespaceManager } from './user-namespace-manager.ts';

export async function openUserNamespaceProvider({
  options,
  runtimeHandlers,
  random,
  log,
}: AllocationProviderContext): Promise<AllocationProvider> {
  const { config, flags } = options;
  const manager = await openUserNamespaces({
    rootDir: flags.rootDirectory,
    idsPerPod: config.userNamespaces?.idsPerPod ?? null,
    maxPods: config.maxPods,
    runtimeHandlers,
    random,
    logger: log('user-namespaces'),
  });
  return {
    name: 'user namespaces',
    isNeededBy: ({ spec }) => spec.hostUsers === false,
    // A pod without IDs is not refused: as upstream, its syncs fail with the problem until it has some.
    allocate: async (pod) => (await manager.reserve(podUID(pod)), null),
    restore: (pod, runtime) => restore(manager, pod, runtime),
    release: (uid) => manager.release(uid),
    releaseOrphans: (isKnown) => manager.releaseOrphans(isKnown),
    close: () => manager.close(),
  };
}

async function restore(
  manager: UserNamespaceManager,
  pod: Pod,
  { status, runtimeHandler = { handler: '' } }: AllocatedInRuntime,
): Promise<ExclusiveAllocation> {
  if ('problem' in runtimeHandler) return { userNamespace: runtimeHandler };
  const current = status?.sandboxes.find(({ state }) => state === 'ready')?.userNamespace;
  return { userNamespace: await manager.getOrCreate(podUID(pod), runtimeHandler.handler, current) };
}
