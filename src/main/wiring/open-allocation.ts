/** Opens the records of the pods' allocated resources, and creates the store of the resize conditions. */
import { AllocationManager, ResizeConditions, type AllocationManagerOptions } from '../allocation/index.ts';
import type { KubeletContext } from './kubelet-context.ts';

export interface Allocation {
  readonly allocationManager: AllocationManager;
  readonly resizeConditions: ResizeConditions;
}

export interface AllocationOpening extends Pick<KubeletContext, 'clock' | 'options' | 'log' | 'shutdown' | 'podLifecycle'> {
  /** Replaced in tests. */
  readonly disk?: Pick<AllocationManagerOptions, 'read' | 'write' | 'sync'>;
}

export async function openAllocation({ clock, options, log, shutdown, podLifecycle, disk }: AllocationOpening): Promise<Allocation> {
  const { flags, featureGates } = options;
  const allocationManager = await AllocationManager.open({
    rootDir: flags.rootDirectory,
    gates: {
      podLevel: featureGates.enabled('InPlacePodLevelResourcesVerticalScaling'),
      initContainers: featureGates.enabled('InPlacePodVerticalScalingInitContainers'),
      memoryBackedVolumes: featureGates.enabled('InPlacePodVerticalScalingMemoryBackedVolumes'),
    },
    ...disk,
    clock,
    logger: log('admission'),
  });
  shutdown.register('allocation-manager', () => allocationManager.close());
  podLifecycle.register({
    name: 'allocation',
    removed: (uids) => uids.forEach((uid) => allocationManager.removePod(uid)),
    keepOnly: (known) => allocationManager.removeOrphanedPods(known),
  });
  return { allocationManager, resizeConditions: new ResizeConditions(clock) };
}
