/** Feature gates that decide about configs and volumes, with their v1.36 defaults for settings that do not name them. */
import type { PodSyncSettings } from '../../shared/contracts/pod-sync/worker-data.ts';

const defaults = {
  ContainerStopSignals: false,
  CustomCPUCFSQuotaPeriod: true,
  EnvFiles: true,
  HostnameOverride: true,
  PodLevelResources: true,
} as const;

export function isGateEnabled({ featureGates }: Pick<PodSyncSettings, 'featureGates'>, gate: keyof typeof defaults): boolean {
  return featureGates[gate] ?? defaults[gate];
}
