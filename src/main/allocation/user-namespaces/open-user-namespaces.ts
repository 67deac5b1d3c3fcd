/** Creates the manager with the IDs that the host gives to the kubelet and the ranges that pods' files have. Upstream: MakeUserNsManager in pkg/kubelet/userns. */
import type { RuntimeHandler } from '../../../shared/contracts/node-info.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { openPodFile } from '../pod-file.ts';
import { IDAllocator } from './id-allocator.ts';
import { checkIDRange, idsUnit } from './id-range.ts';
import { readKubeletIDs, type KubeletIDsOptions } from './kubelet-ids.ts';
import { mappingsFile } from './mappings-file.ts';
import { UserNamespaceManager } from './user-namespace-manager.ts';

export interface UserNamespacesOptions extends KubeletIDsOptions {
  readonly rootDir: string;
  /** `userNamespaces.idsPerPod`; null for the default, 65,536. */
  readonly idsPerPod: number | null;
  readonly maxPods: number;
  /** The runtime's handlers, as they are now. */
  readonly runtimeHandlers: () => readonly RuntimeHandler[];
  readonly random: () => number;
  readonly logger: Logger;
}

/** Rejects with an Error when the host's IDs cannot be divided among the pods: the kubelet does not start, as upstream. */
export async function openUserNamespaces(options: UserNamespacesOptions): Promise<UserNamespaceManager> {
  const { rootDir, maxPods, runtimeHandlers, random, logger } = options;
  const idsPerPod = options.idsPerPod ?? idsUnit;
  try {
    const range = await readKubeletIDs(idsPerPod, options).catch((err: unknown) => {
      throw new Error('kubelet mappings', { cause: err });
    });
    checkIDRange(range, idsPerPod, maxPods);
    const allocator = new IDAllocator({ range, idsPerPod, random });
    const manager = new UserNamespaceManager({ file: openPodFile(rootDir, mappingsFile), allocator, runtimeHandlers, logger });
    await manager.recover();
    return manager;
  } catch (err) {
    throw new Error('create user namespace manager', { cause: err });
  }
}
