/** Default inputs for tests of runtime configs: a small node with cgroup v1 and default feature gates. */
import { podSyncGatesWith } from './pod-sync-gates.ts';
import type { NodeInfo } from '../../../src/shared/contracts/node-info.ts';
import type { PodSyncSettings } from '../../../src/shared/contracts/pod-sync/worker-data.ts';
import type { ContainerConfigInput, HostInfo, SandboxConfigInput } from '../../../src/workers/pod-sync/pod/runtime-config/index.ts';
import { aContainer, aPod } from './pods.ts';

export const aNode: NodeInfo = {
  nodeName: 'node-1',
  hostname: 'node-1',
  hostIPs: ['192.168.1.5'],
  capacity: { milliCPU: 4000, memoryBytes: 4_000_000_000, ephemeralStorageBytes: 100_000_000_000, pods: 110 },
  allocatable: { milliCPU: 3500, memoryBytes: 3_000_000_000, ephemeralStorageBytes: 90_000_000_000, pods: 110 },
  runtimeName: 'containerd',
  runtimeVersion: '1.7.24',
  networkReady: true,
  networkNotReadyMessage: '',
  runtimeHandlers: [],
};

export const someSettings: PodSyncSettings = {
  runtimeEndpoint: 'unix:///run/containerd/containerd.sock',
  imageEndpoint: 'unix:///run/containerd/containerd.sock',
  runtimeRequestTimeoutMs: 120_000,
  rootDir: '/var/lib/kubelet',
  podLogsDir: '/var/log/pods',
  containerLogsDir: '/var/log/containers',
  seccompDefault: false,
  seccompProfileRoot: '/var/lib/kubelet/seccomp',
  cgroupDriver: 'cgroupfs',
  cgroupVersion: 1,
  cgroupFsRoot: '/sys/fs/cgroup',
  cgroupRoot: '/',
  cgroupsPerQOS: true,
  cpuCFSQuota: true,
  cpuCFSQuotaPeriodUs: 100_000,
  podPidsLimit: -1,
  memorySwapBehavior: '',
  memoryReservationPolicy: 'None',
  memoryThrottlingFactor: null,
  reservedMemoryBytes: 0,
  clusterDNS: ['10.96.0.10'],
  clusterDomain: 'cluster.local',
  resolvConf: '/etc/resolv.conf',
  allowedUnsafeSysctls: [],
  defaultPodSysctls: {},
  maxContainerBackOffMs: 300_000,
  initialContainerBackOffMs: 10_000,
  singleProcessOOMKill: true,
  featureGates: podSyncGatesWith(),
};

export const someHostInfo: HostInfo = {
  resolvConf: 'nameserver 1.1.1.1\nsearch example.com\n',
  hugePageSizes: ['2MB', '1GB'],
  swapControllerAvailable: false,
  swapCapacityBytes: 0,
  thermalThrottlePaths: [],
  kernelVersion: '6.18.0',
  selinuxEnabled: false,
};

export function aSandboxConfigInput(fields: Partial<SandboxConfigInput> = {}): SandboxConfigInput {
  return {
    pod: aPod(),
    attempt: 0,
    node: aNode,
    settings: someSettings,
    hostInfo: someHostInfo,
    cgroupParent: '/kubepods/besteffort/poduid-web',
    ...fields,
  };
}

export function aContainerConfigInput(fields: Partial<ContainerConfigInput> = {}): ContainerConfigInput {
  return {
    pod: aPod(),
    container: aContainer(),
    restartCount: 0,
    imageRef: 'sha256:abc',
    imageUser: {},
    env: [],
    mounts: [],
    node: aNode,
    settings: someSettings,
    hostInfo: someHostInfo,
    ...fields,
  };
}
