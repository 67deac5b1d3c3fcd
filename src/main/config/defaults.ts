/**
 * Defaults that depend on another field, on a feature gate or on the presence of a configuration file (upstream:
 * SetDefaults_KubeletConfiguration and cmd/kubelet/app).
 */
import { maxContainerBackOffMs } from './container-back-off.ts';
import type { FeatureGates } from './feature-gates.ts';
import type { KubeletConfiguration, StringMap } from './kubelet-configuration.ts';
import { kubeletConfiguration, type RawConfiguration } from './schema.ts';

const second = 1000;
const defaultReportFrequencyMs = 300 * second;
const defaultUpdateFrequencyMs = 10 * second;

/** Upstream's thresholds on Linux for a configuration file without evictionHard. */
export const defaultEvictionHard: StringMap = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

/** Returns the configuration without a file. It keeps the legacy defaults of the flags (upstream: applyLegacyDefaults). */
export function legacyDefaults(): RawConfiguration {
  const { authentication, authorization, ...rest } = kubeletConfiguration.absent;
  return {
    ...rest,
    readOnlyPort: 10255,
    authentication: {
      ...authentication,
      anonymous: { enabled: true },
      webhook: { ...authentication.webhook, enabled: false },
    },
    authorization: { ...authorization, mode: 'AlwaysAllow' },
  };
}

/** Sets the fields that are still null. `gates` are the final ones, including flags. */
export function applyDefaults(raw: RawConfiguration, gates: FeatureGates): KubeletConfiguration {
  const { nodeStatusUpdateFrequency: update, nodeStatusReportFrequency: report, maxParallelImagePulls } = raw;
  const { maxContainerRestartPeriod } = raw.crashLoopBackOff;
  const defaultRestartPeriod = gates.enabled('KubeletCrashLoopBackOffMax') ? maxContainerBackOffMs : null;
  const defaultVerification = gates.enabled('KubeletEnsureSecretPulledImages') ? 'NeverVerifyPreloadedImages' : '';
  return {
    ...raw,
    // As upstream: an update frequency without a report frequency sets both.
    nodeStatusReportFrequency: report ?? update ?? defaultReportFrequencyMs,
    nodeStatusUpdateFrequency: update ?? defaultUpdateFrequencyMs,
    podPidsLimit: Math.max(raw.podPidsLimit, -1),
    serializeImagePulls: raw.serializeImagePulls ?? (maxParallelImagePulls === null || maxParallelImagePulls < 2),
    evictionHard: raw.evictionHard ?? {},
    crashLoopBackOff: { maxContainerRestartPeriod: maxContainerRestartPeriod ?? defaultRestartPeriod },
    imagePullCredentialsVerificationPolicy: raw.imagePullCredentialsVerificationPolicy || defaultVerification,
  };
}

/** Returns the thresholds of a configuration file: the defaults if it has none, merged with its own if it asks for that. */
export function fileEvictionHard({ evictionHard, mergeDefaultEvictionSettings }: RawConfiguration): StringMap {
  if (evictionHard === null) return defaultEvictionHard;
  return mergeDefaultEvictionSettings ? { ...defaultEvictionHard, ...evictionHard } : evictionHard;
}
