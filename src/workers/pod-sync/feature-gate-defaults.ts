/** The feature gates that the steps of a sync read, with their defaults for settings that do not name them. */

import type { PodSyncSettings } from '../../shared/contracts/pod-sync/worker-data.ts';

const defaults = {
  AtomicWriteVolumeUserFields: false,
  ContainerRestartRules: true,
  ContainerStopSignals: false,
  CustomCPUCFSQuotaPeriod: true,
  EmptyDirVolumeMode: false,
  EnvFiles: true,
  InPlacePodLevelResourcesVerticalScaling: true,
  LocalStorageCapacityIsolationFSQuotaMonitoring: false,
  MemoryQoS: true,
  PodLevelResources: true,
  RestartAllContainersOnContainerExits: true,
} as const;

export function isGateEnabled({ featureGates }: Pick<PodSyncSettings, 'featureGates'>, gate: keyof typeof defaults): boolean {
  return featureGates[gate] ?? defaults[gate];
}
