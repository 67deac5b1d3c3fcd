/**
 * Settings whose part is not built yet. They are read and checked like all others, and named once at the start, so that nobody believes
 * in them. Whoever builds a part takes its lines out of this table.
 */
import { isMap } from './field-codecs.ts';

interface UnsupportedSettings {
  /** What is not there. */
  readonly part: string;
  /** Paths of the configuration: a field, or all below it. */
  readonly fields?: readonly string[];
  /** Flags that set no field. */
  readonly flags?: readonly string[];
}

export const unsupportedSettings: readonly UnsupportedSettings[] = [
  {
    // Objects travel as JSON, whatever is asked for.
    part: 'certificates from the cluster, other encodings than JSON',
    fields: ['rotateCertificates', 'serverTLSBootstrap', 'contentType'],
    flags: ['bootstrap-kubeconfig'],
  },
  // It counts how long Go's routines wait for locks.
  { part: 'profiles of contention', fields: ['enableContentionProfiling'] },
  {
    // evictionHard counts in allocatable, localStorageCapacityIsolation in the capacity: but nothing is evicted for want of either.
    part: 'eviction',
    fields: [
      'localStorageCapacityIsolation',
      'evictionHard',
      'evictionSoft',
      'evictionSoftGracePeriod',
      'evictionPressureTransitionPeriod',
      'evictionMaxPodGracePeriod',
      'evictionMinimumReclaim',
      'kernelMemcgNotification',
    ],
  },
  {
    part: 'image garbage collection and the plugins of image credentials',
    fields: ['imageMinimumGCAge', 'imageMaximumGCAge', 'imageGCHighThresholdPercent', 'imageGCLowThresholdPercent'],
    flags: ['image-credential-provider-config', 'image-credential-provider-bin-dir'],
  },
  {
    part: 'rotation of container logs',
    fields: ['containerLogMaxSize', 'containerLogMaxFiles', 'containerLogMaxWorkers', 'containerLogMonitorInterval'],
  },
  {
    part: 'the CPU, memory and topology managers',
    fields: [
      'cpuManagerPolicy',
      'cpuManagerPolicyOptions',
      'cpuManagerReconcilePeriod',
      'memoryManagerPolicy',
      'reservedMemory',
      'reservedSystemCPUs',
      'topologyManagerPolicy',
      'topologyManagerPolicyOptions',
      'topologyManagerScope',
    ],
  },
  {
    part: 'enforcing what is kept back for the host, and the kubelet’s own limits',
    fields: [
      'enforceNodeAllocatable',
      'systemReservedCgroup',
      'kubeReservedCgroup',
      'kubeletCgroups',
      'systemCgroups',
      'qosReserved',
      'memoryThrottlingFactor',
      'memoryReservationPolicy',
      'maxOpenFiles',
      'protectKernelDefaults',
    ],
    flags: ['runtime-cgroups'],
  },
  {
    part: 'graceful node shutdown',
    fields: ['shutdownGracePeriod', 'shutdownGracePeriodCriticalPods', 'shutdownGracePeriodByPodPriority'],
  },
  {
    part: 'volumes of plugins, and the usage of volumes',
    fields: ['volumePluginDir', 'volumeStatsAggPeriod'],
    flags: ['experimental-mounter-path'],
  },
  {
    part: 'the host’s network: bridges and iptables chains',
    fields: ['podCIDR', 'hairpinMode', 'makeIPTablesUtilChains', 'iptablesMasqueradeBit', 'iptablesDropBit'],
  },
  { part: 'user namespaces', fields: ['userNamespaces'] },
  {
    part: 'traces, hidden metrics, buffered logs',
    fields: [
      'tracing',
      'showHiddenMetricsForVersion',
      'logging.flushFrequency',
      'logging.options.text.infoBufferSize',
      'logging.options.json.infoBufferSize',
    ],
  },
  {
    part: 'cAdvisor’s settings',
    flags: [
      'application-metrics-count-limit',
      'boot-id-file',
      'container-hints',
      'containerd',
      'containerd-namespace',
      'enable-load-reader',
      'event-storage-age-limit',
      'event-storage-event-limit',
      'global-housekeeping-interval',
      'housekeeping-interval',
      'log-cadvisor-usage',
      'machine-id-file',
      'max-housekeeping-interval',
      'storage-driver-buffer-duration',
      'storage-driver-db',
      'storage-driver-host',
      'storage-driver-password',
      'storage-driver-secure',
      'storage-driver-table',
      'storage-driver-user',
    ],
  },
  { part: 'Windows', flags: ['windows-priorityclass', 'windows-service'] },
];

/**
 * The names of the settings that were made and have no effect: fields by path, flags with their dashes. A field that asks for nothing
 * (false, zero, empty, "none") is not among them.
 *
 * @param wire what file and drop-ins say, without defaults
 * @param flags what was given on the command line: by name the field that it sets, or undefined
 */
export function findUnsupportedSettings(wire: unknown, flags: ReadonlyMap<string, string | undefined>): string[] {
  return unsupportedSettings.flatMap(({ fields = [], flags: names = [] }) => [
    ...fields.filter((path) => hasEffect(valueAt(wire, path))),
    ...[...flags]
      .filter(
        ([name, field]) =>
          names.includes(name) || (field !== undefined && fields.some((path) => field === path || field.startsWith(`${path}.`))),
      )
      .map(([name]) => `--${name}`),
  ]);
}

function valueAt(wire: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, name) => (isMap(at) && Object.hasOwn(at, name) ? at[name] : undefined), wire);
}

function hasEffect(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasEffect);
  if (isMap(value)) return Object.values(value).some(hasEffect);
  return ![undefined, null, false, 0, '', '0', '0s', 'none', 'None'].includes(value as string);
}
