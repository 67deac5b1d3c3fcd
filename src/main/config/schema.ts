/**
 * The JSON schema of KubeletConfiguration: every field of v1beta1, in upstream's order, with its type and its default (upstream:
 * staging/src/k8s.io/kubelet/config/v1beta1/types.go and pkg/kubelet/apis/config/v1beta1/defaults.go). defaults.ts has the defaults that
 * depend on another field or on a feature gate.
 */
import * as c from './field-codecs.ts';
import type { KubeletConfiguration, Milliseconds, Taint } from './kubelet-configuration.ts';

const second = 1000;
const minute = 60 * second;

export const apiVersion = 'kubelet.config.k8s.io/v1beta1';
export const kind = 'KubeletConfiguration';

/** The configuration before the defaults that depend on other fields. Such a field is null while it is not set. */
export interface RawConfiguration extends Omit<KubeletConfiguration, DependentDefault> {
  readonly nodeStatusUpdateFrequency: Milliseconds | null;
  readonly nodeStatusReportFrequency: Milliseconds | null;
  readonly serializeImagePulls: boolean | null;
  /** Null: not set, which differs from empty until the defaults are applied. */
  readonly evictionHard: KubeletConfiguration['evictionHard'] | null;
}
type DependentDefault = 'nodeStatusUpdateFrequency' | 'nodeStatusReportFrequency' | 'serializeImagePulls' | 'evictionHard';

/** Zero is the same as absent, as for every duration that is not a pointer in Go. */
const durationOrNull: c.Codec<Milliseconds | null> = {
  ...c.nullable(c.duration()),
  read: (value, fieldPath) => c.duration().read(value, fieldPath) || null,
};

const taint = c.struct<Taint>({
  key: c.textKeepEmpty(),
  value: c.text(),
  effect: c.textKeepEmpty(),
  timeAdded: c.nullable(c.text()),
});

const outputRouting = c.struct<KubeletConfiguration['logging']['options']['text']>({
  splitStream: c.bool(),
  infoBufferSize: c.quantity('0'),
});

export const kubeletConfiguration: c.Codec<RawConfiguration> = c.struct<RawConfiguration>({
  enableServer: c.optional.bool(true),
  staticPodPath: c.text(),
  podLogsDir: c.text('/var/log/pods'),
  syncFrequency: c.duration(minute),
  fileCheckFrequency: c.duration(20 * second),
  httpCheckFrequency: c.duration(20 * second),
  staticPodURL: c.text(),
  staticPodURLHeader: c.mapOf(c.texts()),
  address: c.text('0.0.0.0'),
  port: c.int32(10250),
  readOnlyPort: c.int32(),
  tlsCertFile: c.text(),
  tlsPrivateKeyFile: c.text(),
  tlsCipherSuites: c.texts(),
  tlsCurvePreferences: c.listOf(c.int32()),
  tlsMinVersion: c.text(),
  rotateCertificates: c.bool(),
  serverTLSBootstrap: c.bool(),
  authentication: c.struct<KubeletConfiguration['authentication']>({
    x509: c.struct({ clientCAFile: c.text() }),
    webhook: c.struct({ enabled: c.optional.bool(true), cacheTTL: c.duration(2 * minute) }),
    anonymous: c.struct({ enabled: c.optional.bool(false) }),
  }),
  authorization: c.struct<KubeletConfiguration['authorization']>({
    mode: c.text('Webhook'),
    webhook: c.struct({ cacheAuthorizedTTL: c.duration(5 * minute), cacheUnauthorizedTTL: c.duration(30 * second) }),
  }),
  registryPullQPS: c.optional.int32(5),
  registryBurst: c.int32(10),
  imagePullCredentialsVerificationPolicy: c.text(),
  preloadedImagesVerificationAllowlist: c.texts(),
  eventRecordQPS: c.optional.int32(50),
  eventBurst: c.int32(100),
  enableDebuggingHandlers: c.optional.bool(true),
  enableContentionProfiling: c.bool(),
  healthzPort: c.optional.int32(10248),
  healthzBindAddress: c.text('127.0.0.1'),
  oomScoreAdj: c.optional.int32(-999),
  clusterDomain: c.text(),
  clusterDNS: c.texts(),
  streamingConnectionIdleTimeout: c.duration(240 * minute),
  nodeStatusUpdateFrequency: durationOrNull,
  nodeStatusReportFrequency: durationOrNull,
  nodeLeaseDurationSeconds: c.int32(40),
  imageMinimumGCAge: c.duration(2 * minute),
  imageMaximumGCAge: c.duration(),
  imageGCHighThresholdPercent: c.optional.int32(85),
  imageGCLowThresholdPercent: c.optional.int32(80),
  volumeStatsAggPeriod: c.duration(minute),
  kubeletCgroups: c.text(),
  systemCgroups: c.text(),
  cgroupRoot: c.text(),
  cgroupsPerQOS: c.optional.bool(true),
  cgroupDriver: c.text('cgroupfs'),
  cpuManagerPolicy: c.text('none'),
  singleProcessOOMKill: c.nullable(c.optional.bool(false)),
  cpuManagerPolicyOptions: c.textMap(),
  cpuManagerReconcilePeriod: c.duration(10 * second),
  memoryManagerPolicy: c.text('None'),
  topologyManagerPolicy: c.text('none'),
  topologyManagerScope: c.text('container'),
  topologyManagerPolicyOptions: c.textMap(),
  qosReserved: c.textMap(),
  runtimeRequestTimeout: c.duration(2 * minute),
  hairpinMode: c.text('promiscuous-bridge'),
  maxPods: c.int32(110),
  podCIDR: c.text(),
  podPidsLimit: c.optional.int64(-1),
  resolvConf: c.optional.text('/etc/resolv.conf'),
  runOnce: c.bool(),
  cpuCFSQuota: c.optional.bool(true),
  cpuCFSQuotaPeriod: c.optional.duration(100),
  nodeStatusMaxImages: c.optional.int32(50),
  maxOpenFiles: c.int64(1_000_000),
  contentType: c.text('application/vnd.kubernetes.protobuf'),
  kubeAPIQPS: c.optional.int32(50),
  kubeAPIBurst: c.int32(100),
  serializeImagePulls: c.nullable(c.optional.bool(true)),
  maxParallelImagePulls: c.nullable(c.optional.int32(0)),
  evictionHard: c.nullable(c.textMap()),
  evictionSoft: c.textMap(),
  evictionSoftGracePeriod: c.textMap(),
  evictionPressureTransitionPeriod: c.duration(5 * minute),
  evictionMaxPodGracePeriod: c.int32(),
  evictionMinimumReclaim: c.textMap(),
  mergeDefaultEvictionSettings: c.optional.bool(false),
  podsPerCore: c.int32(),
  enableControllerAttachDetach: c.optional.bool(true),
  protectKernelDefaults: c.bool(),
  makeIPTablesUtilChains: c.optional.bool(true),
  iptablesMasqueradeBit: c.optional.int32(14),
  iptablesDropBit: c.optional.int32(15),
  featureGates: c.mapOf(c.optional.bool(false)),
  failSwapOn: c.optional.bool(true),
  memorySwap: c.struct({ swapBehavior: c.text() }),
  containerLogMaxSize: c.text('10Mi'),
  containerLogMaxFiles: c.optional.int32(5),
  containerLogMaxWorkers: c.optional.int32(1),
  containerLogMonitorInterval: c.optional.duration(10 * second),
  configMapAndSecretChangeDetectionStrategy: c.text('Watch'),
  systemReserved: c.textMap(),
  kubeReserved: c.textMap(),
  reservedSystemCPUs: c.text(),
  showHiddenMetricsForVersion: c.text(),
  systemReservedCgroup: c.text(),
  kubeReservedCgroup: c.text(),
  enforceNodeAllocatable: c.texts(['pods']),
  allowedUnsafeSysctls: c.texts(),
  volumePluginDir: c.text('/usr/libexec/kubernetes/kubelet-plugins/volume/exec/'),
  providerID: c.text(),
  kernelMemcgNotification: c.bool(),
  logging: c.struct<KubeletConfiguration['logging']>({
    format: c.text('text'),
    flushFrequency: c.durationOrNanos(5 * second),
    verbosity: c.uint32KeepZero(),
    vmodule: c.listOf(c.struct({ filePattern: c.textKeepEmpty(), verbosity: c.uint32KeepZero() })),
    options: c.struct({ text: outputRouting, json: outputRouting }),
  }),
  enableSystemLogHandler: c.optional.bool(true),
  enableSystemLogQuery: c.optional.bool(false),
  shutdownGracePeriod: c.duration(),
  shutdownGracePeriodCriticalPods: c.duration(),
  shutdownGracePeriodByPodPriority: c.listOf(c.struct({ priority: c.int32KeepZero(), shutdownGracePeriodSeconds: c.int64KeepZero() })),
  crashLoopBackOff: c.struct({ maxContainerRestartPeriod: c.nullable(c.optional.duration(0)) }),
  reservedMemory: c.listOf(c.struct({ numaNode: c.int32KeepZero(), limits: c.mapOf(c.quantity('0')) })),
  enableProfilingHandler: c.optional.bool(true),
  enableDebugFlagsHandler: c.optional.bool(true),
  seccompDefault: c.optional.bool(false),
  memoryThrottlingFactor: c.optional.float(0.9),
  memoryReservationPolicy: c.text('None'),
  registerWithTaints: c.listOf(taint),
  registerNode: c.optional.bool(true),
  tracing: c.nullable(c.struct({ endpoint: c.nullable(c.optional.text('')), samplingRatePerMillion: c.nullable(c.optional.int32(0)) })),
  localStorageCapacityIsolation: c.optional.bool(true),
  containerRuntimeEndpoint: c.textKeepEmpty('unix:///run/containerd/containerd.sock'),
  imageServiceEndpoint: c.text(),
  failCgroupV1: c.optional.bool(true),
  userNamespaces: c.nullable(c.struct({ idsPerPod: c.nullable(c.optional.int64(0)) })),
});
