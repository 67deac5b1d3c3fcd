/** The feature gates that a sync and the reading of a manifest depend on. Main sends their values: only main knows the defaults. */
export const podSyncGates = [
  'AtomicWriteVolumeUserFields',
  'ContainerRestartRules',
  'ContainerStopSignals',
  'CustomCPUCFSQuotaPeriod',
  'EmptyDirVolumeMode',
  'EnvFiles',
  'H2CContainerProbe',
  'InPlacePodLevelResourcesVerticalScaling',
  'LocalStorageCapacityIsolationFSQuotaMonitoring',
  'MatchLabelKeysInPodTopologySpread',
  'MatchLabelKeysInPodTopologySpreadSelectorMerge',
  'MemoryQoS',
  'PodDeletionCost',
  'PodLevelResources',
  'PodLevelResourcesFixDefaulting',
  'RestartAllContainersOnContainerExits',
  'RuntimeClassInImageCriApi',
  'SELinuxMount',
  'TaintTolerationComparisonOperators',
  'UserNamespacesHostNetworkSupport',
] as const;

export type PodSyncGates = Readonly<Record<(typeof podSyncGates)[number], boolean>>;
