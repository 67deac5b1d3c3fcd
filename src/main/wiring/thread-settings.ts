/** Converts the kubelet's options into the settings of each thread. */
import { podSyncGates, type PodSyncGates } from '../../shared/contracts/pod-sync/feature-gates.ts';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { ImagesWorkerData, LiveImagesSettings } from '../../shared/contracts/images.ts';
import type { PlegWorkerData } from '../../shared/contracts/pleg.ts';
import type { PodSyncSettings } from '../../shared/contracts/pod-sync/worker-data.ts';
import type { ProbesWorkerData } from '../../shared/contracts/probes.ts';
import type { StatsWorkerData } from '../../shared/contracts/stats.ts';
import { containerLogsDir } from '../../shared/kubernetes/paths.ts';
import { value } from '../../shared/kubernetes/quantity.ts';
import { cgroupFsRoot, ownCgroup, toNodeName, type CgroupSettings } from '../node/index.ts';
import { containerBackOffLimits } from '../config/container-back-off.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import type { KubeletOptions } from '../config/options.ts';
import type { TracingSettings } from '../../shared/tracing/index.ts';
import type { Settings } from '../threads/start-thread.ts';
import { memoryThresholds } from '../eviction/memory-thresholds.ts';

/** Upstream: genericPlegRelistPeriod. */
const relistPeriodMs = 1000;
/** The interval of cAdvisor's housekeeping in the Go kubelet. */
const statsPeriodMs = 10_000;

export function plegSettings({ config, flags }: KubeletOptions, snapshot: SharedArrayBuffer): Settings<PlegWorkerData> {
  return {
    runtimeEndpoint: config.containerRuntimeEndpoint,
    relistPeriodMs,
    runtimeRequestTimeoutMs: config.runtimeRequestTimeout,
    // The thread detects whether the runtime has the stream. With upstream's gate EventedPLEG, the
    // contents of events replace inspections; here an event only causes an inspection.
    useEventStream: true,
    rootDir: flags.rootDirectory,
    podLogsDir: config.podLogsDir,
    snapshot,
  };
}

export function imagesSettings(
  { config, live, flags, featureGates, credentialProviders }: KubeletOptions,
  shared: { readonly snapshot: SharedArrayBuffer; readonly usage: SharedArrayBuffer },
): Settings<ImagesWorkerData, 'events' | 'main'> {
  const verifies = featureGates.enabled('KubeletEnsureSecretPulledImages');
  return {
    rootDir: flags.rootDirectory,
    verificationPolicy: verifies
      ? { name: config.imagePullCredentialsVerificationPolicy, allowlist: config.preloadedImagesVerificationAllowlist }
      : null,
    runtimeEndpoint: config.containerRuntimeEndpoint,
    imageEndpoint: imageEndpoint(config),
    runtimeRequestTimeoutMs: config.runtimeRequestTimeout,
    serializeImagePulls: config.serializeImagePulls,
    maxParallelImagePulls: config.maxParallelImagePulls,
    credentialProviders: credentialProviders.providers,
    byRuntimeHandler: featureGates.enabled('RuntimeClassInImageCriApi'),
    live: liveImagesSettings(live.view),
    podLogsDir: config.podLogsDir,
    containerLogsDir,
    splitDisks: featureGates.enabled('KubeletSeparateDiskGC'),
    snapshot: shared.snapshot,
    usage: shared.usage,
  };
}

/** The default port of collectors, where otlptracegrpc sends spans without an endpoint. */
const defaultCollector = 'localhost:4317';

/** Null: the configuration has no `tracing`. Upstream: newTracerProvider in cmd/kubelet/app. */
export function tracingSettings({ config: { tracing }, flags }: Pick<KubeletOptions, 'config' | 'flags'>): TracingSettings | null {
  if (tracing === null) return null;
  return {
    endpoint: tracing.endpoint ?? defaultCollector,
    samplingRatePerMillion: tracing.samplingRatePerMillion ?? 0,
    hostName: toNodeName(flags.hostnameOverride, hostname()),
  };
}

/** Called again when the configuration has changed. */
export function liveImagesSettings(config: KubeletConfiguration): LiveImagesSettings {
  return {
    registryPullQPS: config.registryPullQPS,
    registryBurst: config.registryBurst,
    imageGc: {
      highThresholdPercent: config.imageGCHighThresholdPercent,
      lowThresholdPercent: config.imageGCLowThresholdPercent,
      minAgeMs: config.imageMinimumGCAge,
      maxAgeMs: config.imageMaximumGCAge,
    },
    logRotation: toLogRotationPolicy(config),
  };
}

export function probesSettings({ config }: KubeletOptions): Settings<ProbesWorkerData, 'results'> {
  return { runtimeEndpoint: config.containerRuntimeEndpoint, runtimeRequestTimeoutMs: config.runtimeRequestTimeout };
}

/** Null: container logs are not rotated. Upstream: NewContainerLogManager. */
function toLogRotationPolicy(config: KubeletConfiguration): LiveImagesSettings['logRotation'] {
  const maxSizeBytes = value(config.containerLogMaxSize);
  if (maxSizeBytes < 0) return null;
  return {
    maxSizeBytes,
    maxFiles: config.containerLogMaxFiles,
    maxWorkers: config.containerLogMaxWorkers,
    monitorIntervalMs: config.containerLogMonitorInterval,
  };
}

/** The image service's endpoint; by default the runtime's. */
function imageEndpoint({ imageServiceEndpoint, containerRuntimeEndpoint }: KubeletOptions['config']): string {
  return imageServiceEndpoint === '' ? containerRuntimeEndpoint : imageServiceEndpoint;
}

export function statsSettings(
  { config, live, flags, featureGates }: KubeletOptions,
  host: CgroupSettings,
  shared: { readonly snapshot: SharedArrayBuffer; readonly usage: SharedArrayBuffer; readonly storage: SharedArrayBuffer },
): Settings<StatsWorkerData, 'runtimeCgroupDriver' | 'events' | 'main'> {
  return {
    runtimeEndpoint: config.containerRuntimeEndpoint,
    runtimeRequestTimeoutMs: config.runtimeRequestTimeout,
    rootDir: flags.rootDirectory,
    podLogsDir: config.podLogsDir,
    ...host,
    cgroupFsRoot,
    cgroupRoot: config.cgroupRoot,
    cgroupsPerQOS: config.cgroupsPerQOS,
    systemCgroups: {
      kubelet: config.kubeletCgroups === '' ? ownCgroup() : config.kubeletCgroups,
      runtime: flags.runtimeCgroups,
      misc: config.systemCgroups,
    },
    statsFromRuntime: featureGates.enabled('PodAndContainerStatsFromCRI') ? config.containerRuntimeEndpoint : '',
    housekeepingPeriodMs: statsPeriodMs,
    volumeStatsPeriodMs: config.volumeStatsAggPeriod,
    hugePageAware: featureGates.enabled('HugepageAwareEviction'),
    projectQuotas: featureGates.enabled('LocalStorageCapacityIsolationFSQuotaMonitoring'),
    memoryThresholds: memoryThresholds(live.view),
    notifiesMemoryUsage: config.kernelMemcgNotification,
    ...shared,
  };
}

export function podSyncSettings({ config, flags, featureGates, seccompDefault }: KubeletOptions, host: CgroupSettings): PodSyncSettings {
  return {
    runtimeEndpoint: config.containerRuntimeEndpoint,
    imageEndpoint: imageEndpoint(config),
    runtimeRequestTimeoutMs: config.runtimeRequestTimeout,
    rootDir: flags.rootDirectory,
    podLogsDir: config.podLogsDir,
    containerLogsDir,
    seccompDefault,
    seccompProfileRoot: join(flags.rootDirectory, 'seccomp'),
    ...host,
    cgroupFsRoot,
    cgroupRoot: config.cgroupRoot,
    cgroupsPerQOS: config.cgroupsPerQOS,
    cpuCFSQuota: config.cpuCFSQuota,
    cpuCFSQuotaPeriodUs: Math.round(config.cpuCFSQuotaPeriod * 1000),
    podPidsLimit: config.podPidsLimit,
    memorySwapBehavior: config.memorySwap.swapBehavior,
    memoryReservationPolicy: config.memoryReservationPolicy,
    memoryThrottlingFactor: config.memoryThrottlingFactor,
    reservedMemoryBytes: value(config.systemReserved['memory']) + value(config.kubeReserved['memory']),
    clusterDNS: config.clusterDNS,
    clusterDomain: config.clusterDomain,
    resolvConf: config.resolvConf,
    allowedUnsafeSysctls: config.allowedUnsafeSysctls,
    defaultPodSysctls: featureGates.enabled('DefaultPodSysctls') ? config.defaultPodSysctls : {},
    ...containerBackOffLimits(featureGates, config.crashLoopBackOff.maxContainerRestartPeriod),
    singleProcessOOMKill: config.singleProcessOOMKill ?? host.cgroupVersion === 1,
    featureGates: Object.fromEntries(podSyncGates.map((gate) => [gate, featureGates.enabled(gate)])) as PodSyncGates,
  };
}
