/**
 * The effective KubeletConfiguration (kubelet.config.k8s.io/v1beta1) after defaults, drop-ins and flags. Fields are spelled as in the API, so
 * the types carry the units: durations are `Milliseconds`. Unset maps and lists are empty. A field is nullable only where "not set" differs
 * from every value. schema.ts reads and writes the JSON form, and does not compile if a field of this interface is missing there.
 */

/** A Go duration in milliseconds, with fractions because Go counts nanoseconds. */
export type Milliseconds = number;
/** A Kubernetes quantity (`100Mi`, `0.5`, …) in canonical form. */
export type QuantityString = string;
export type StringMap = Readonly<Record<string, string>>;

export interface KubeletConfiguration {
  readonly enableServer: boolean;
  /** Folder or file of static pods; empty: none. */
  readonly staticPodPath: string;
  readonly podLogsDir: string;
  readonly syncFrequency: Milliseconds;
  readonly fileCheckFrequency: Milliseconds;
  readonly httpCheckFrequency: Milliseconds;
  readonly staticPodURL: string;
  readonly staticPodURLHeader: Readonly<Record<string, readonly string[]>>;
  readonly address: string;
  readonly port: number;
  /** 0: off. */
  readonly readOnlyPort: number;
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly tlsCipherSuites: readonly string[];
  readonly tlsCurvePreferences: readonly number[];
  readonly tlsMinVersion: string;
  readonly rotateCertificates: boolean;
  readonly serverTLSBootstrap: boolean;
  readonly authentication: KubeletAuthentication;
  readonly authorization: KubeletAuthorization;
  /** Pulls per second. 0: no limit. */
  readonly registryPullQPS: number;
  readonly registryBurst: number;
  /** Empty while the gate KubeletEnsureSecretPulledImages is off. */
  readonly imagePullCredentialsVerificationPolicy: string;
  readonly preloadedImagesVerificationAllowlist: readonly string[];
  readonly eventRecordQPS: number;
  readonly eventBurst: number;
  readonly enableDebuggingHandlers: boolean;
  readonly enableContentionProfiling: boolean;
  /** 0: off. */
  readonly healthzPort: number;
  readonly healthzBindAddress: string;
  readonly oomScoreAdj: number;
  readonly clusterDomain: string;
  readonly clusterDNS: readonly string[];
  readonly streamingConnectionIdleTimeout: Milliseconds;
  readonly nodeStatusUpdateFrequency: Milliseconds;
  readonly nodeStatusReportFrequency: Milliseconds;
  readonly nodeLeaseDurationSeconds: number;
  readonly imageMinimumGCAge: Milliseconds;
  /** 0: no limit. */
  readonly imageMaximumGCAge: Milliseconds;
  readonly imageGCHighThresholdPercent: number;
  readonly imageGCLowThresholdPercent: number;
  readonly volumeStatsAggPeriod: Milliseconds;
  readonly kubeletCgroups: string;
  readonly systemCgroups: string;
  readonly cgroupRoot: string;
  readonly cgroupsPerQOS: boolean;
  /** The runtime's own driver (CRI RuntimeConfig) takes precedence. */
  readonly cgroupDriver: string;
  readonly cpuManagerPolicy: string;
  /** Null: true on cgroup v1, false on v2. */
  readonly singleProcessOOMKill: boolean | null;
  readonly cpuManagerPolicyOptions: StringMap;
  readonly cpuManagerReconcilePeriod: Milliseconds;
  readonly memoryManagerPolicy: string;
  readonly topologyManagerPolicy: string;
  readonly topologyManagerScope: string;
  readonly topologyManagerPolicyOptions: StringMap;
  readonly qosReserved: StringMap;
  readonly runtimeRequestTimeout: Milliseconds;
  readonly hairpinMode: string;
  readonly maxPods: number;
  readonly podCIDR: string;
  /** −1: the node's own limit. */
  readonly podPidsLimit: number;
  /** Empty: no resolver file. */
  readonly resolvConf: string;
  readonly runOnce: boolean;
  readonly cpuCFSQuota: boolean;
  readonly cpuCFSQuotaPeriod: Milliseconds;
  readonly nodeStatusMaxImages: number;
  readonly maxOpenFiles: number;
  readonly contentType: string;
  readonly kubeAPIQPS: number;
  readonly kubeAPIBurst: number;
  readonly serializeImagePulls: boolean;
  /** Null: no limit. */
  readonly maxParallelImagePulls: number | null;
  readonly evictionHard: StringMap;
  readonly evictionSoft: StringMap;
  readonly evictionSoftGracePeriod: StringMap;
  readonly evictionPressureTransitionPeriod: Milliseconds;
  /** Seconds. */
  readonly evictionMaxPodGracePeriod: number;
  readonly evictionMinimumReclaim: StringMap;
  readonly mergeDefaultEvictionSettings: boolean;
  readonly podsPerCore: number;
  readonly enableControllerAttachDetach: boolean;
  readonly protectKernelDefaults: boolean;
  readonly makeIPTablesUtilChains: boolean;
  readonly iptablesMasqueradeBit: number;
  readonly iptablesDropBit: number;
  /** Only the explicit settings of file, drop-ins and flags. `FeatureGates` has the effective values. */
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly failSwapOn: boolean;
  readonly memorySwap: { readonly swapBehavior: string };
  readonly containerLogMaxSize: string;
  readonly containerLogMaxFiles: number;
  readonly containerLogMaxWorkers: number;
  readonly containerLogMonitorInterval: Milliseconds;
  readonly configMapAndSecretChangeDetectionStrategy: string;
  readonly systemReserved: StringMap;
  readonly kubeReserved: StringMap;
  readonly reservedSystemCPUs: string;
  readonly showHiddenMetricsForVersion: string;
  readonly systemReservedCgroup: string;
  readonly kubeReservedCgroup: string;
  readonly enforceNodeAllocatable: readonly string[];
  readonly allowedUnsafeSysctls: readonly string[];
  readonly defaultPodSysctls: StringMap;
  readonly volumePluginDir: string;
  readonly providerID: string;
  readonly kernelMemcgNotification: boolean;
  readonly logging: LoggingConfiguration;
  readonly enableSystemLogHandler: boolean;
  readonly enableSystemLogQuery: boolean;
  /** 0: no graceful node shutdown. */
  readonly shutdownGracePeriod: Milliseconds;
  readonly shutdownGracePeriodCriticalPods: Milliseconds;
  readonly shutdownGracePeriodByPodPriority: readonly ShutdownGracePeriodByPodPriority[];
  /** Null while the gate KubeletCrashLoopBackOffMax is off. The maximum is then upstream's constant, 5 min. */
  readonly crashLoopBackOff: { readonly maxContainerRestartPeriod: Milliseconds | null };
  readonly reservedMemory: readonly MemoryReservation[];
  readonly enableProfilingHandler: boolean;
  readonly enableDebugFlagsHandler: boolean;
  readonly seccompDefault: boolean;
  /** Null: memory is not throttled. */
  readonly memoryThrottlingFactor: number | null;
  readonly memoryReservationPolicy: string;
  readonly registerWithTaints: readonly Taint[];
  readonly registerNode: boolean;
  readonly tracing: TracingConfiguration | null;
  readonly localStorageCapacityIsolation: boolean;
  readonly containerRuntimeEndpoint: string;
  /** Empty: the same as containerRuntimeEndpoint. */
  readonly imageServiceEndpoint: string;
  readonly failCgroupV1: boolean;
  readonly userNamespaces: UserNamespaces | null;
}

export interface KubeletAuthentication {
  readonly x509: { readonly clientCAFile: string };
  readonly webhook: { readonly enabled: boolean; readonly cacheTTL: Milliseconds };
  readonly anonymous: { readonly enabled: boolean };
}

export interface KubeletAuthorization {
  readonly mode: string;
  readonly webhook: { readonly cacheAuthorizedTTL: Milliseconds; readonly cacheUnauthorizedTTL: Milliseconds };
}

export interface LoggingConfiguration {
  readonly format: string;
  readonly flushFrequency: Milliseconds;
  readonly verbosity: number;
  readonly vmodule: readonly VModuleItem[];
  readonly options: { readonly text: OutputRoutingOptions; readonly json: OutputRoutingOptions };
}

export interface VModuleItem {
  readonly filePattern: string;
  readonly verbosity: number;
}

export interface OutputRoutingOptions {
  readonly splitStream: boolean;
  readonly infoBufferSize: QuantityString;
}

export interface ShutdownGracePeriodByPodPriority {
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

export interface MemoryReservation {
  readonly numaNode: number;
  readonly limits: Readonly<Record<string, QuantityString>>;
}

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
  /** RFC 3339; null: not set. */
  readonly timeAdded: string | null;
}

export interface TracingConfiguration {
  readonly endpoint: string | null;
  readonly samplingRatePerMillion: number | null;
}

export interface UserNamespaces {
  /** Null: 65536. */
  readonly idsPerPod: number | null;
}
