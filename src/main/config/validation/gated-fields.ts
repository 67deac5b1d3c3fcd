/** Rules for fields that require a feature gate (upstream: pkg/kubelet/apis/config/validation/validation.go). */
import { formatDuration } from '../../../shared/kubernetes/duration.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { swapBehaviors } from '../../../shared/kubernetes/swap.ts';
import { isSysctlName, normalizeSysctl, sysctlNamespace } from '../../../shared/kubernetes/sysctls.ts';
import { maxContainerBackOffMs } from '../container-back-off.ts';
import { checkImagePattern } from './image-pattern.ts';
import { quotedList, collectErrors, thrownMessage, invalidConfiguration, type ValidationRule } from './rules.ts';

const verificationPolicies = ['NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify'];
const second = 1000;
/** The default before v1.37, which files from then may have. */
const formerThrottlingFactor = 0.9;

const checkShutdown: ValidationRule = ({ config, gates }) => {
  const { shutdownGracePeriod: all, shutdownGracePeriodCriticalPods: critical } = config;
  const graceful = gates.enabled('GracefulNodeShutdown');
  const byPriority = config.shutdownGracePeriodByPodPriority.length > 0;
  const isTooShort = (period: number): boolean => period < 0 || (period > 0 && period < second);
  return collectErrors(
    [
      graceful && critical > all,
      `shutdownGracePeriodCriticalPods ${formatDuration(critical)} must be <= shutdownGracePeriod ${formatDuration(all)}`,
    ],
    [graceful && isTooShort(all), `shutdownGracePeriod ${formatDuration(all)} must be either zero or otherwise >= 1 sec`],
    [
      graceful && isTooShort(critical),
      `shutdownGracePeriodCriticalPods ${formatDuration(critical)} must be either zero or otherwise >= 1 sec`,
    ],
    [
      !graceful && (all > 0 || critical > 0),
      'specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
    ],
    [
      gates.enabled('GracefulNodeShutdownBasedOnPodPriority') && byPriority && (all > 0 || critical > 0),
      'Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time',
    ],
    [
      !gates.enabled('GracefulNodeShutdownBasedOnPodPriority') && byPriority,
      'Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
    ],
  );
};

const checkCrashLoopBackOff: ValidationRule = ({ config, gates }) => {
  const period = config.crashLoopBackOff.maxContainerRestartPeriod;
  const isEnabled = gates.enabled('KubeletCrashLoopBackOffMax');
  const wholeMs = Math.trunc(period ?? 0);
  return collectErrors(
    [
      isEnabled && period === null,
      'FeatureGate KubeletCrashLoopBackOffMax is enabled, CrashLoopBackOff.MaxContainerRestartPeriod must be set',
    ],
    [
      isEnabled && period !== null && (wholeMs < second || wholeMs > maxContainerBackOffMs),
      `CrashLoopBackOff.MaxContainerRestartPeriod (got: ${(period ?? 0) / second} seconds) must be set between 1s and 300s`,
    ],
    [
      !isEnabled && period !== null,
      'FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set',
    ],
  );
};

const checkImageCredentials: ValidationRule = ({ config, gates }) => {
  const policy = config.imagePullCredentialsVerificationPolicy;
  const patterns = config.preloadedImagesVerificationAllowlist;
  if (!gates.enabled('KubeletEnsureSecretPulledImages')) {
    const why = 'must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled';
    return collectErrors(
      [policy !== '', `\`imagePullCredentialsVerificationPolicy\` ${why}`],
      [patterns.length > 0, `\`preloadedImagesVerificationAllowlist\` ${why}`],
    );
  }
  const policyErrors = verificationPolicies.includes(policy)
    ? []
    : [
        invalidConfiguration(
          `option "${policy}" specified for imagePullCredentialsVerificationPolicy. Valid options are ${quotedList(verificationPolicies)}`,
        ),
      ];
  if (patterns.length > 0 && policy !== 'NeverVerifyAllowlistedImages') {
    const needed = 'if `imagePullCredentialsVerificationPolicy` is not "NeverVerifyAllowlistedImages"';
    return [...policyErrors, invalidConfiguration(`can't set \`preloadedImagesVerificationAllowlist\` ${needed}`)];
  }
  const wrong = patterns.map((pattern) => thrownMessage(() => checkImagePattern(pattern))).find((failure) => failure !== undefined);
  return wrong === undefined
    ? policyErrors
    : [...policyErrors, invalidConfiguration(`invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${wrong}`)];
};

const checkCpuQuota: ValidationRule = ({ config, gates }) => {
  const period = formatDuration(config.cpuCFSQuotaPeriod);
  const name = 'cpuCFSQuotaPeriod (--cpu-cfs-quota-period)';
  const custom = gates.enabled('CustomCPUCFSQuotaPeriod');
  return collectErrors(
    [!custom && config.cpuCFSQuotaPeriod !== 100, `${name} ${period} requires feature gate CustomCPUCFSQuotaPeriod`],
    [
      custom && (config.cpuCFSQuotaPeriod < 1 || config.cpuCFSQuotaPeriod > second),
      `${name} ${period} must be between 1ms and 1sec, inclusive`,
    ],
  );
};

const checkDefaultSysctls: ValidationRule = ({ config, gates }) => {
  const names = Object.keys(config.defaultPodSysctls);
  if (names.length > 0 && !gates.enabled('DefaultPodSysctls')) {
    return [invalidConfiguration('DefaultPodSysctls feature gate is required for Kubelet configuration option defaultPodSysctls')];
  }
  const normalized = names.map(normalizeSysctl);
  return names.flatMap((name, index) => {
    if (!isSysctlName(name)) return [invalidConfiguration(`${goQuote(name)} is not a valid sysctl name for defaultPodSysctls`)];
    return collectErrors(
      [sysctlNamespace(name) === undefined, `${goQuote(name)} is not known to be namespaced for defaultPodSysctls`],
      [normalized.indexOf(normalized[index]!) < index, `duplicate sysctl ${goQuote(normalized[index]!)} found in defaultPodSysctls`],
    );
  });
};

export const checkGatedFields: ValidationRule = (input) => {
  const { config, gates } = input;
  const { swapBehavior } = config.memorySwap;
  const swap = gates.enabled('NodeSwap');
  return [
    ...checkCpuQuota(input),
    ...collectErrors([
      config.serverTLSBootstrap && !gates.enabled('RotateKubeletServerCertificate'),
      `serverTLSBootstrap ${config.serverTLSBootstrap} requires feature gate RotateKubeletServerCertificate`,
    ]),
    ...checkShutdown(input),
    ...collectErrors(
      [
        swap && !swapBehaviors.includes(swapBehavior),
        `memorySwap.swapBehavior "${swapBehavior}" must be one of: ${quotedList(swapBehaviors)}`,
      ],
      [!swap && swapBehavior !== '', 'memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled'],
    ),
    ...checkCrashLoopBackOff(input),
    ...checkDefaultSysctls(input),
    ...checkImageCredentials(input),
    ...collectErrors(
      [
        !gates.enabled('MemoryQoS') && ![null, formerThrottlingFactor].includes(config.memoryThrottlingFactor),
        'memoryThrottlingFactor must not be set when MemoryQoS feature gate is disabled',
      ],
      [
        !gates.enabled('MemoryQoS') && config.memoryReservationPolicy === 'TieredReservation',
        `memoryReservationPolicy "${config.memoryReservationPolicy}" requires MemoryQoS feature gate to be enabled`,
      ],
      [config.enableSystemLogQuery && !gates.enabled('NodeLogQuery'), 'NodeLogQuery feature gate is required for enableSystemLogQuery'],
      [config.enableSystemLogQuery && !config.enableSystemLogHandler, 'enableSystemLogHandler is required for enableSystemLogQuery'],
    ),
  ];
};
