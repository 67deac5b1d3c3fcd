/**
 * The JSON schema of KubeletConfiguration: every field of v1beta1, in upstream's order, with its type and its default (upstream:
 * staging/src/k8s.io/kubelet/config/v1beta1/types.go and pkg/kubelet/apis/config/v1beta1/defaults.go). defaults.ts has the defaults that
 * depend on another field or on a feature gate.
 */
import { codecs, type Codec } from './field-codecs.ts';
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
const durationOrNull: Codec<Milliseconds | null> = {
  ...codecs.nullable(codecs.duration()),
  read: (value, fieldPath) => codecs.duration().read(value, fieldPath) || null,
};

const taint = codecs.struct<Taint>({
  key: codecs.textKeepEmpty(),
  value: codecs.text(),
  effect: codecs.textKeepEmpty(),
  timeAdded: codecs.nullable(codecs.text()),
});

const outputRouting = codecs.struct<KubeletConfiguration['logging']['options']['text']>({
  splitStream: codecs.bool(),
  infoBufferSize: codecs.quantity('0'),
});

export const kubeletConfiguration: Codec<RawConfiguration> = codecs.struct<RawConfiguration>({
  enableServer: codecs.optional.bool(true),
  staticPodPath: codecs.text(),
  podLogsDir: codecs.text('/var/log/pods'),
  syncFrequency: codecs.duration(minute),
  fileCheckFrequency: codecs.duration(20 * second),
  httpCheckFrequency: codecs.duration(20 * second),
  staticPodURL: codecs.text(),
  staticPodURLHeader: codecs.mapOf(codecs.texts()),
  address: codecs.text('0.0.0.0'),
  port: codecs.int32(10250),
  readOnlyPort: codecs.int32(),
  tlsCertFile: codecs.text(),
  tlsPrivateKeyFile: codecs.text(),
  tlsCipherSuites: codecs.texts(),
  tlsCurvePreferences: codecs.listOf(codecs.int32()),
  tlsMinVersion: codecs.text(),
  rotateCertificates: codecs.bool(),
  serverTLSBootstrap: codecs.bool(),
  authentication: codecs.struct<KubeletConfiguration['authentication']>({
    x509: codecs.struct({ clientCAFile: codecs.text() }),
    webhook: codecs.struct({ enabled: codecs.optional.bool(true), cacheTTL: codecs.duration(2 * minute) }),
    anonymous: codecs.struct({ enabled: codecs.optional.bool(false) }),
  }),
  authorization: codecs.struct<KubeletConfiguration['authorization']>({
    mode: codecs.text('Webhook'),
    webhook: codecs.struct({ cacheAuthorizedTTL: codecs.duration(5 * minute), cacheUnauthorizedTTL: codecs.duration(30 * second) }),
  }),
  registryPullQPS: codecs.optional.int32(5),
  registryBurst: codecs.int32(10),
  imagePullCredentialsVerificationPolicy: codecs.text(),
  preloadedImagesVerificationAllowlist: codecs.texts(),
  eventRecordQPS: codecs.optional.int32(50),
  eventBurst: codecs.int32(100),
  enableDebuggingHandlers: codecs.optional.bool(true),
  enableContentionProfiling: codecs.bool(),
  healthzPort: codecs.optional.int32(10248),
  healthzBindAddress: codecs.text('127.0.0.1'),
  oomScoreAdj: codecs.optional.int32(-999),
  clusterDomain: codecs.text(),
  clusterDNS: codecs.texts(),
  streamingConnectionIdleTimeout: codecs.duration(240 * minute),
  nodeStatusUpdateFrequency: durationOrNull,
  nodeStatusReportFrequency: durationOrNull,
  nodeLeaseDurationSeconds: codecs.int32(40),
  imageMinimumGCAge: codecs.duration(2 * minute),
  imageMaximumGCAge: codecs.duration(),
  imageGCHighThresholdPercent: codecs.optional.int32(85),
  imageGCLowThresholdPercent: codecs.optional.int32(80),
  volumeStatsAggPeriod: codecs.duration(minute),
  kubeletCgroups: codecs.text(),
  systemCgroups: codecs.text(),
  cgroupRoot: codecs.text(),
  cgroupsPerQOS: codecs.optional.bool(true),
  cgroupDriver: codecs.text('cgroupfs'),
  cpuManagerPolicy: codecs.text('none'),
  singleProcessOOMKill: codecs.nullable(codecs.optional.bool(false)),
  cpuManagerPolicyOptions: codecs.textMap(),
  cpuManagerReconcilePeriod: codecs.duration(10 * second),
  memoryManagerPolicy: codecs.text('None'),
  topologyManagerPolicy: codecs.text('none'),
  topologyManagerScope: codecs.text('container'),
  topologyManagerPolicyOptions: codecs.textMap(),
  qosReserved: codecs.textMap(),
  runtimeRequestTimeout: codecs.duration(2 * minute),
  hairpinMode: codecs.text('promiscuous-bridge'),
  maxPods: codecs.int32(110),
  podCIDR: codecs.text(),
  podPidsLimit: codecs.optional.int64(-1),
  resolvConf: codecs.optional.text('/etc/resolv.conf'),
  runOnce: codecs.bool(),
  cpuCFSQuota: codecs.optional.bool(true),
  cpuCFSQuotaPeriod: codecs.optional.duration(100),
  nodeStatusMaxImages: codecs.optional.int32(50),
  maxOpenFiles: codecs.int64(1_000_000),
  contentType: codecs.text('application/vnd.kubernetes.protobuf'),
  kubeAPIQPS: codecs.optional.int32(50),
  kubeAPIBurst: codecs.int32(100),
  serializeImagePulls: codecs.nullable(codecs.optional.bool(true)),
  maxParallelImagePulls: codecs.nullable(codecs.optional.int32(0)),
  evictionHard: codecs.nullable(codecs.textMap()),
  evictionSoft: codecs.textMap(),
  evictionSoftGracePeriod: codecs.textMap(),
  evictionPressureTransitionPeriod: codecs.duration(5 * minute),
  evictionMaxPodGracePeriod: codecs.int32(),
  evictionMinimumReclaim: codecs.textMap(),
  mergeDefaultEvictionSettings: codecs.optional.bool(false),
  podsPerCore: codecs.int32(),
  enableControllerAttachDetach: codecs.optional.bool(true),
  protectKernelDefaults: codecs.bool(),
  makeIPTablesUtilChains: codecs.optional.bool(true),
  iptablesMasqueradeBit: codecs.optional.int32(14),
  iptablesDropBit: codecs.optional.int32(15),
  featureGates: codecs.mapOf(codecs.optional.bool(false)),
  failSwapOn: codecs.optional.bool(true),
  memorySwap: codecs.struct({ swapBehavior: codecs.text() }),
  containerLogMaxSize: codecs.text('10Mi'),
  containerLogMaxFiles: codecs.optional.int32(5),
  containerLogMaxWorkers: codecs.optional.int32(1),
  containerLogMonitorInterval: codecs.optional.duration(10 * second),
  configMapAndSecretChangeDetectionStrategy: codecs.text('Watch'),
  systemReserved: codecs.textMap(),
  kubeReserved: codecs.textMap(),
  reservedSystemCPUs: codecs.text(),
  showHiddenMetricsForVersion: codecs.text(),
  systemReservedCgroup: codecs.text(),
  kubeReservedCgroup: codecs.text(),
  enforceNodeAllocatable: codecs.texts(['pods']),
  allowedUnsafeSysctls: codecs.texts(),
  defaultPodSysctls: codecs.textMap(),
  volumePluginDir: codecs.text('/usr/libexec/kubernetes/kubelet-plugins/volume/exec/'),
  providerID: codecs.text(),
  kernelMemcgNotification: codecs.bool(),
  logging: codecs.struct<KubeletConfiguration['logging']>({
    format: codecs.text('text'),
    flushFrequency: codecs.durationOrNanos(5 * second),
    verbosity: codecs.uint32KeepZero(),
    vmodule: codecs.listOf(codecs.struct({ filePattern: codecs.textKeepEmpty(), verbosity: codecs.uint32KeepZero() })),
    options: codecs.struct({ text: outputRouting, json: outputRouting }),
  }),
  enableSystemLogHandler: codecs.optional.bool(true),
  enableSystemLogQuery: codecs.optional.bool(false),
  shutdownGracePeriod: codecs.duration(),
  shutdownGracePeriodCriticalPods: codecs.duration(),
  shutdownGracePeriodByPodPriority: codecs.listOf(
    codecs.struct({ priority: codecs.int32KeepZero(), shutdownGracePeriodSeconds: codecs.int64KeepZero() }),
  ),
  crashLoopBackOff: codecs.struct({ maxContainerRestartPeriod: codecs.nullable(codecs.optional.duration(0)) }),
  reservedMemory: codecs.listOf(codecs.struct({ numaNode: codecs.int32KeepZero(), limits: codecs.mapOf(codecs.quantity('0')) })),
  enableProfilingHandler: codecs.optional.bool(true),
  enableDebugFlagsHandler: codecs.optional.bool(true),
  seccompDefault: codecs.optional.bool(false),
  memoryThrottlingFactor: codecs.nullable(codecs.floatKeepZero()),
  memoryReservationPolicy: codecs.text('None'),
  registerWithTaints: codecs.listOf(taint),
  registerNode: codecs.optional.bool(true),
  tracing: codecs.nullable(
    codecs.struct({
      endpoint: codecs.nullable(codecs.optional.text('')),
      samplingRatePerMillion: codecs.nullable(codecs.optional.int32(0)),
    }),
  ),
  localStorageCapacityIsolation: codecs.optional.bool(true),
  containerRuntimeEndpoint: codecs.textKeepEmpty('unix:///run/containerd/containerd.sock'),
  imageServiceEndpoint: codecs.text(),
  failCgroupV1: codecs.optional.bool(true),
  userNamespaces: codecs.nullable(codecs.struct({ idsPerPod: codecs.nullable(codecs.optional.int64(0)) })),
});
