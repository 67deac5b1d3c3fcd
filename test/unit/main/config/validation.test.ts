import assert from 'node:assert/strict';
import { applyDefaults } from '../../../../src/main/config/defaults.ts';
import { computeFeatureGates } from '../../../../src/main/config/feature-gates.ts';
import { parseConfigFile } from '../../../../src/main/config/read-config-file.ts';
import { validateConfiguration } from '../../../../src/main/config/validation/validate-configuration.ts';
import { previousMinor } from '../../../../src/shared/kubernetes/version.ts';
import { table } from '../../../support/table.ts';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

interface Case {
  readonly name: string;
  readonly config: string;
  readonly gates?: Record<string, boolean>;
  readonly cgroupVersion?: 1 | 2;
  /** A part of each message, in order. Empty: the configuration is valid. */
  readonly want: readonly string[];
}

const cases: Case[] = [
  { name: 'the defaults are valid', config: '', want: [] },
  { name: 'a port must be a port', config: 'port: 65536', want: ['port (--port) 65536 must be between 1 and 65535, inclusive'] },
  { name: 'the health port may be off', config: 'healthzPort: 0', want: [] },
  {
    name: 'the health port can’t be negative',
    config: 'healthzPort: -1',
    want: ['healthzPort (--healthz-port) -1 must be between 0 and 65535'],
  },
  {
    name: 'the read-only port can’t be too high',
    config: 'readOnlyPort: 70000',
    want: ['readOnlyPort (--read-only-port) 70000 must be between 0'],
  },
  {
    name: 'event QPS can’t be negative',
    config: 'eventRecordQPS: -1',
    want: ['eventRecordQPS (--event-qps) -1 must not be a negative number'],
  },
  {
    name: 'pods can’t be negative',
    config: 'maxPods: -1\npodsPerCore: -2',
    want: ['maxPods (--max-pods) -1', 'podsPerCore (--pods-per-core) -2'],
  },
  { name: 'pull rates can’t be negative', config: 'registryPullQPS: -1\nregistryBurst: -1', want: ['registryBurst', 'registryPullQPS'] },
  {
    name: 'the OOM score has a range',
    config: 'oomScoreAdj: -1001',
    want: ['oomScoreAdj (--oom-score-adj) -1001 must be between -1000 and 1000'],
  },
  { name: 'images in the node status may be unlimited', config: 'nodeStatusMaxImages: -1', want: [] },
  {
    name: 'images in the node status can’t be less than −1',
    config: 'nodeStatusMaxImages: -2',
    want: ['nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater'],
  },
  {
    name: 'iptables bits have a range',
    config: 'iptablesDropBit: 32\niptablesMasqueradeBit: -1',
    want: ['iptablesDropBit', 'iptablesMasqueradeBit'],
  },
  {
    name: 'a lease has a duration',
    config: 'nodeLeaseDurationSeconds: -1',
    want: ['nodeLeaseDurationSeconds must be greater than 0, got -1'],
  },
  {
    name: 'the low threshold of image GC is below the high one',
    config: 'imageGCLowThresholdPercent: 85',
    want: [
      'imageGCLowThresholdPercent (--image-gc-low-threshold) 85 must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 85',
    ],
  },
  {
    name: 'the maximum age of images is above the minimum',
    config: 'imageMaximumGCAge: 1m',
    want: ['imageMaximumGCAge 1m0s must be greater than imageMinimumGCAge 2m0s'],
  },
  { name: 'ages can’t be negative', config: 'imageMinimumGCAge: -1s', want: ['imageMinimumGCAge -1s must not be negative'] },
  {
    name: 'parallel pulls require serializeImagePulls off',
    config: 'serializeImagePulls: true\nmaxParallelImagePulls: 2',
    want: ['maxParallelImagePulls 2 cannot be larger than 1 unless SerializeImagePulls'],
  },
  {
    name: 'a limit of zero pulls is rejected',
    config: 'maxParallelImagePulls: 0',
    want: ['maxParallelImagePulls 0 must be a positive number'],
  },
  {
    name: 'container logs have at least two files, one worker and three seconds',
    config: 'containerLogMaxFiles: 1\ncontainerLogMaxWorkers: 0\ncontainerLogMonitorInterval: 2s',
    want: ['containerLogMaxWorkers must', 'containerLogMonitorInterval must', 'containerLogMaxFiles must be greater than 1, got 1'],
  },
  {
    name: 'the size of container logs is a quantity',
    config: 'containerLogMaxSize: big',
    want: ['failed to parse container log max size "big"'],
  },
  {
    name: 'the size of container logs is whole bytes',
    config: 'containerLogMaxSize: 100m',
    want: ['failed to parse container log max size "100m" (containerLogMaxSize): invalid max log size'],
  },
  {
    name: 'default sysctls need their gate',
    config: 'defaultPodSysctls: { net.core.somaxconn: "1" }',
    want: ['DefaultPodSysctls feature gate is required'],
  },
  {
    name: 'default sysctls are namespaced, and named once',
    config: 'defaultPodSysctls: { net.core.somaxconn: "1", net/core/somaxconn: "2", vm.swappiness: "3", net.*: "4" }',
    gates: { DefaultPodSysctls: true },
    want: [
      'duplicate sysctl "net.core.somaxconn" found in defaultPodSysctls',
      '"vm.swappiness" is not known to be namespaced for defaultPodSysctls',
      '"net.*" is not a valid sysctl name for defaultPodSysctls',
    ],
  },
  {
    name: 'a throttling factor needs MemoryQoS',
    config: 'memoryThrottlingFactor: 0.8',
    gates: { MemoryQoS: false },
    want: ['memoryThrottlingFactor must not be set when MemoryQoS feature gate is disabled'],
  },
  {
    name: 'the former default of the throttling factor is valid without MemoryQoS',
    config: 'memoryThrottlingFactor: 0.9',
    gates: { MemoryQoS: false },
    want: [],
  },
  {
    name: 'the throttling factor is in (0, 1]',
    config: 'memoryThrottlingFactor: 1.5',
    want: ['memoryThrottlingFactor 1.5 must be greater than 0'],
  },
  {
    name: 'a custom CPU period requires its gate',
    config: 'cpuCFSQuotaPeriod: 50ms',
    gates: { CustomCPUCFSQuotaPeriod: false },
    want: ['cpuCFSQuotaPeriod (--cpu-cfs-quota-period) 50ms requires feature gate'],
  },
  {
    name: 'a custom CPU period has a range',
    config: 'cpuCFSQuotaPeriod: 2s',
    gates: { CustomCPUCFSQuotaPeriod: true },
    want: ['2s must be between 1ms and 1sec, inclusive'],
  },
  {
    name: 'the shutdown grace period of critical pods is not longer than the total',
    config: 'shutdownGracePeriodCriticalPods: 10s',
    want: ['shutdownGracePeriodCriticalPods 10s must be <= shutdownGracePeriod 0s'],
  },
  {
    name: 'a shutdown grace period is zero or at least a second',
    config: 'shutdownGracePeriod: 10ms',
    want: ['shutdownGracePeriod 10ms must be either zero or otherwise >= 1 sec'],
  },
  {
    name: 'shutdown by priority excludes a total grace period',
    config: 'shutdownGracePeriod: 10s\nshutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 1}]',
    want: ['Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod'],
  },
  {
    name: 'the restart period has a range',
    config: 'crashLoopBackOff: {maxContainerRestartPeriod: 500ms}',
    want: ['(got: 0.5 seconds) must be set between 1s and 300s'],
  },
  {
    name: 'swap has known behaviours',
    config: 'memorySwap: {swapBehavior: Some}',
    want: ['memorySwap.swapBehavior "Some" must be one of: "", "LimitedSwap" or "NoSwap"'],
  },
  {
    name: 'an allow-list of images requires its policy',
    config: 'preloadedImagesVerificationAllowlist: [a/b]',
    want: ["can't set `preloadedImagesVerificationAllowlist`"],
  },
  {
    name: 'a pattern of images has no tag',
    config: 'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: ["reg:5000/a:1"]',
    want: ['neither tag nor digest is accepted in an image reference: reg:5000/a:1'],
  },
  {
    name: 'names and prefixes of images are valid patterns',
    config:
      'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: ["reg:5000/a", "reg/*"]',
    want: [],
  },
  {
    name: 'a wildcard is only allowed at the end',
    config: 'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: ["a/*/b"]',
    want: ['not a valid wildcard pattern'],
  },
  {
    name: 'log queries require their handler',
    config: 'enableSystemLogQuery: true\nenableSystemLogHandler: false',
    want: ['enableSystemLogHandler is required'],
    gates: { NodeLogQuery: true },
  },
  {
    name: 'policies have a fixed set of values',
    config: 'topologyManagerPolicy: some\nhairpinMode: x\ncpuManagerPolicy: z',
    want: [
      'option "some" specified for topologyManagerPolicy',
      'option "x" specified for hairpinMode',
      'option "z" specified for cpuManagerPolicy',
    ],
  },
  {
    name: 'the authorization mode and the TLS version have a fixed set of values',
    config: 'authorization: {mode: RBAC}\ntlsMinVersion: TLS1',
    want: ['option "RBAC"', 'option "TLS1"'],
  },
  {
    name: 'a cipher suite has a name that Go knows',
    config: 'tlsCipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, FOO]',
    want: ['Cipher suite FOO not supported'],
  },
  {
    name: 'curves are known and unique',
    config: 'tlsCurvePreferences: [29, 29, 1, 70000]',
    want: ['duplicate curve preference 29', '1 is not supported', '70000 is out of range'],
  },
  {
    name: 'the runtime’s endpoint is a unix socket',
    config: 'containerRuntimeEndpoint: tcp://192.0.2.1:5',
    want: ['only support unix socket endpoint'],
  },
  {
    name: 'the image service’s endpoint is a unix socket',
    config: 'imageServiceEndpoint: npipe:////./pipe/x',
    want: ['only support unix socket endpoint'],
  },
  { name: 'a path without a scheme is a valid endpoint', config: 'containerRuntimeEndpoint: /run/containerd.sock', want: [] },
  {
    name: 'only namespaced sysctls may be allowed',
    config: 'allowedUnsafeSysctls: [net.core.*, vm.swappiness]',
    want: ['allowedUnsafeSysctls: the sysctls "vm.swappiness" are not known to be namespaced'],
  },
  { name: 'the run-once mode is rejected', config: 'runOnce: true', want: ['Runonce mode has been deprecated'] },
  {
    name: 'systemCgroups is not the root',
    config: 'systemCgroups: /\ncgroupRoot: /',
    want: ['system container cannot be root ("/")'],
  },
  {
    name: 'systemCgroups requires a cgroupRoot',
    config: 'systemCgroups: /system',
    want: ['systemCgroups (--system-cgroups) /system was specified and cgroupRoot'],
  },
  {
    name: 'enforcements have a fixed set of values',
    config: 'enforceNodeAllocatable: [all]',
    want: ['option "all" specified for enforceNodeAllocatable'],
  },
  {
    name: 'the enforcement none excludes others',
    config: 'enforceNodeAllocatable: [none, pods]',
    want: ['may not contain additional enforcements when "none"'],
  },
  { name: 'an enforcement is not duplicated', config: 'enforceNodeAllocatable: [pods, pods]', want: ['duplicated enforcements "pods"'] },
  {
    name: 'an enforcement on a cgroup requires the cgroup’s name',
    config: 'enforceNodeAllocatable: [kube-reserved]',
    want: ['kubeReservedCgroup (--kube-reserved-cgroup) must be specified'],
  },
  {
    name: 'an enforcement requires cgroupsPerQOS',
    config: 'cgroupsPerQOS: false',
    want: ['cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods"'],
  },
  {
    name: 'the two kinds of one enforcement exclude each other',
    config: 'systemReservedCgroup: /s\nenforceNodeAllocatable: [system-reserved, system-reserved-compressible]',
    want: ['both "system-reserved-compressible" and "system-reserved" cannot be specified together'],
  },
  {
    name: 'reservations are quantities of known resources',
    config: 'systemReserved: {cpu: x, gpu: "1", memory: "-1"}',
    want: ['failed to parse quantity "x"', 'cannot reserve "gpu"', 'cannot be negative: -1'],
  },
  { name: 'reserved CPUs are a list of ranges', config: 'reservedSystemCPUs: 0-3,5', want: [] },
  { name: 'reserved CPUs are online', config: 'reservedSystemCPUs: 6-8', want: ['reservedCPUs: 6-8 is not a subset of online CPUs: 0-7'] },
  { name: 'a CPU has a number that a kernel can have', config: 'reservedSystemCPUs: 0-4294967295', want: ['has a CPU above 65535'] },
  { name: 'a range of CPUs ascends', config: 'reservedSystemCPUs: 3-0', want: ['invalid range "3-0" (3 > 0)'] },
  {
    name: 'reserved CPUs exclude a reserved cgroup',
    config: 'reservedSystemCPUs: "0"\nkubeReservedCgroup: /k',
    want: ["can't use reservedSystemCPUs"],
  },
  {
    name: 'reserved memory is memory, not zero, and not duplicated',
    config: 'reservedMemory: [{numaNode: 0, limits: {cpu: 1, memory: 0}}, {numaNode: 0, limits: {memory: 1Gi}}]',
    want: ['the limit type "cpu" for NUMA node 0 is not supported', 'may not be zero for NUMA node 0', 'duplicate value for NUMA node 0'],
  },
  {
    name: 'QoS reservations are percents of memory',
    config: 'qosReserved: {memory: 101%, cpu: 5%}',
    want: ['"101%" for "memory"', 'cannot reserve "cpu"'],
  },
  { name: 'eviction signals are known', config: 'evictionHard: {disk.free: 1Gi}', want: ['unsupported eviction signal disk.free'] },
  {
    name: 'a threshold is a quantity or a percentage',
    config: 'evictionHard: {memory.available: 101%, nodefs.available: "0"}',
    want: ['must be <= 100%', 'must be positive'],
  },
  {
    name: 'a soft threshold has a grace period',
    config: 'evictionSoft: {memory.available: 1Gi}',
    want: ['grace period must be specified for the soft eviction threshold memory.available'],
  },
  { name: 'a soft threshold of 0% requires no grace period', config: 'evictionSoft: {memory.available: 0%}', want: [] },
  {
    name: 'a grace period is a duration',
    config: 'evictionSoftGracePeriod: {memory.available: soon}',
    want: ['time: invalid duration "soon"'],
  },
  {
    name: 'options of the CPU manager are known and boolean',
    config: 'cpuManagerPolicyOptions: {fast: "true", full-pcpus-only: maybe}',
    want: ['unknown CPU Manager Policy option: "fast"', 'bad value for option "full-pcpus-only"'],
  },
  {
    name: 'an alpha option of the CPU manager requires its gate',
    config: 'cpuManagerPolicyOptions: {align-by-socket: "true"}',
    want: ['Alpha-level Options not enabled'],
  },
  {
    name: 'max-allowable-numa-nodes can’t be below the default',
    config: 'topologyManagerPolicyOptions: {max-allowable-numa-nodes: "4"}',
    want: ['should not be less than 8, got 4'],
  },
  {
    name: 'a taint has a valid key, value and effect',
    config: 'registerWithTaints: [{key: -a, effect: NoSchedule}, {key: a, effect: Nope, timeAdded: "2026-01-01T00:00:00Z"}]',
    want: ['invalid taint key', 'invalid taint effect: Nope', 'taint.TimeAdded is not nil'],
  },
  {
    name: 'a host with cgroup v1 is rejected by default',
    config: '',
    cgroupVersion: 1,
    want: ['configured to not run on a host using cgroup v1'],
  },
  { name: 'a host with cgroup v1 is accepted without failCgroupV1', config: 'failCgroupV1: false', cgroupVersion: 1, want: [] },
  {
    name: 'singleProcessOOMKill can’t be false on cgroup v1',
    config: 'failCgroupV1: false\nsingleProcessOOMKill: false',
    cgroupVersion: 1,
    want: ['singleProcessOOMKill must not be explicitly set to false'],
  },
  {
    name: 'idsPerPod is a multiple of 65536',
    config: 'userNamespaces: {idsPerPod: 65537}',
    want: ['userNamespaces.idsPerPod must be a multiple of 65536, got 65537'],
  },
  {
    name: 'metrics hidden in the previous minor release may be enabled',
    config: `showHiddenMetricsForVersion: "${previousMinor}"`,
    want: [],
  },
  {
    name: 'metrics hidden in an older release can’t be enabled',
    config: 'showHiddenMetricsForVersion: "1.30"',
    want: [`must be omitted or have the value '${previousMinor}'`],
  },
  {
    name: 'a log format is text or json',
    config: 'logging: {format: xml}',
    want: ['logging.format: Invalid value: "xml": Unsupported log format'],
  },
  {
    name: 'vmodule requires the text format',
    config: 'logging: {format: json, vmodule: [{filePattern: a, verbosity: 1}]}',
    want: ['logging.vmodule: Forbidden'],
  },
  {
    name: 'a vmodule pattern is not empty and has no separators',
    config: 'logging: {vmodule: [{filePattern: "", verbosity: 1}, {filePattern: "a=b", verbosity: 1}]}',
    want: ['logging.vmodule[0]: Required', 'logging.vmodule[1]: Invalid'],
  },
  {
    name: 'split streams require an alpha gate',
    config: 'logging: {options: {text: {splitStream: true}, json: {infoBufferSize: 1Ki}}}',
    want: ['logging.options.text.splitStream: Forbidden', 'logging.options.json.infoBufferSize: Forbidden'],
  },
  {
    name: 'a sampling rate is at most a million',
    config: 'tracing: {samplingRatePerMillion: 1000001}',
    want: ['less than or equal to one million'],
  },
  { name: 'a tracing endpoint has a scheme of gRPC', config: 'tracing: {endpoint: "http://x"}', want: ['unsupported scheme: http'] },
  {
    name: 'podLogsDir is an absolute, normalized path of ASCII',
    config: 'podLogsDir: "log/pöds/"',
    want: ['must be absolute path', 'must be normalized', 'ASCII'],
  },
];

table('a configuration is valid, or every problem is reported', (row) => {
  for (const { name, config: text, gates: set = {}, cgroupVersion = 2, want } of cases) {
    row(name, () => {
      const { gates } = computeFeatureGates(set);
      const config = applyDefaults(parseConfigFile(`${header}${text}\n`, 'strict').raw, gates);
      const found = validateConfiguration({ config, gates, host: { cgroupVersion, onlineCPUs: '0-7' } });
      assert.equal(found.length, want.length, found.join('\n'));
      want.forEach((part, index) => assert.ok(found[index]?.includes(part), `${found[index]}\ndoes not contain\n${part}`));
    });
  }
});
