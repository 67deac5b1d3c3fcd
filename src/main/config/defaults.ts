/** The defaults that depend on another field, on a feature gate or on how the kubelet was started (upstream: SetDefaults_KubeletConfiguration and cmd/kubelet/app). */
import type { FeatureGates } from './feature-gates.ts';
import type { KubeletConfiguration, StringMap } from './kubelet-configuration.ts';
import { kubeletConfiguration, type RawConfiguration } from './schema.ts';

const second = 1000;
const defaultReportFrequencyMs = 300 * second;
const defaultUpdateFrequencyMs = 10 * second;
/** Upstream's MaxContainerBackOff. */
const maxContainerBackOffMs = 300 * second;

/** Where the thresholds stand on Linux when a file says nothing of them. */
export const defaultEvictionHard: StringMap = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

/** The configuration without any file: what flags always meant goes on meaning it. */
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

/** Fills in what was left open. The gates are those that will hold, of flags too. */
export function applyDefaults(raw: RawConfiguration, gates: FeatureGates): KubeletConfiguration {
  const { nodeStatusUpdateFrequency: update, nodeStatusReportFrequency: report, maxParallelImagePulls } = raw;
  const { maxContainerRestartPeriod } = raw.crashLoopBackOff;
  const defaultRestartPeriod = gates.enabled('KubeletCrashLoopBackOffMax') ? maxContainerBackOffMs : null;
  const defaultVerification = gates.enabled('KubeletEnsureSecretPulledImages') ? 'NeverVerifyPreloadedImages' : '';
  return {
    ...raw,
    // Whoever sets only how often the status is computed means how often it is reported, too.
    nodeStatusReportFrequency: report ?? update ?? defaultReportFrequencyMs,
    nodeStatusUpdateFrequency: update ?? defaultUpdateFrequencyMs,
    podPidsLimit: Math.max(raw.podPidsLimit, -1),
    serializeImagePulls: raw.serializeImagePulls ?? (maxParallelImagePulls === null || maxParallelImagePulls < 2),
    evictionHard: raw.evictionHard ?? {},
    crashLoopBackOff: { maxContainerRestartPeriod: maxContainerRestartPeriod ?? defaultRestartPeriod },
    imagePullCredentialsVerificationPolicy: raw.imagePullCredentialsVerificationPolicy || defaultVerification,
  };
}

/** The thresholds of a configuration file: the defaults when it names none, and beside its own when it asks for that. */
export function fileEvictionHard({ evictionHard, mergeDefaultEvictionSettings }: RawConfiguration): StringMap {
  if (evictionHard === null) return defaultEvictionHard;
  return mergeDefaultEvictionSettings ? { ...defaultEvictionHard, ...evictionHard } : evictionHard;
}
