/** Plans which cgroups of the node get which limits, with the words of upstream's events (node_container_manager_linux.go). Pure. */
import type { CgroupChange } from '../../shared/contracts/pod-sync/cgroups.ts';
import type { MachineInfo } from '../../shared/contracts/stats.ts';
import { podsCgroup } from '../../shared/cgroups/cgroup-names.ts';
import { hugePageSizeName, type CgroupResources } from '../../shared/cgroups/cgroup-values.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import { withoutProtection } from './qos-levels.ts';
import { toAmounts, toCgroupLimits, unreservedCapacity } from './node-limits.ts';

export type EnforcementSettings = Pick<
  KubeletConfiguration,
  | 'cgroupRoot'
  | 'cgroupsPerQOS'
  | 'enforceNodeAllocatable'
  | 'kubeReserved'
  | 'kubeReservedCgroup'
  | 'systemReserved'
  | 'systemReservedCgroup'
>;

export interface Enforcement {
  readonly change: CgroupChange;
  /** The message of the event NodeAllocatableEnforced. */
  readonly success: string;
  /** The start of the message of FailedNodeAllocatableEnforcement; `: <error>` follows. */
  readonly failure: string;
}

export interface EnforcementHost {
  readonly machine: MachineInfo;
  readonly cgroupVersion: 1 | 2;
  /** Gate MemoryQoS. */
  readonly memoryQos: boolean;
}

/** The limit of all pods comes first. It is set in any case: without one the pods would have few CPU shares. */
export function planEnforcement(settings: EnforcementSettings, host: EnforcementHost): Enforcement[] {
  return [...enforceOnPods(settings, host), ...enforceOnDaemons(settings, host)];
}

export function hugePageSizes({ hugePages }: Pick<MachineInfo, 'hugePages'>): string[] {
  return hugePages.map(({ pageSizeKiB }) => hugePageSizeName(pageSizeKiB * 1024));
}

function enforceOnPods(settings: EnforcementSettings, host: EnforcementHost): Enforcement[] {
  const cgroup = podsCgroup(settings);
  // The root of the hierarchy has no limits.
  if (cgroup.length === 0) return [];
  const capacity = toAmounts(host.machine);
  const isEnforced = settings.cgroupsPerQOS && settings.enforceNodeAllocatable.includes('pods');
  const amounts = isEnforced ? unreservedCapacity(capacity, settings.systemReserved, settings.kubeReserved) : capacity;
  return [
    {
      change: {
        cgroup,
        resources: { ...toCgroupLimits(amounts), ...allCPUs(host), ...withoutFormerProtection(host) },
        create: settings.cgroupsPerQOS,
      },
      success: 'Updated Node Allocatable limit across pods',
      failure: `Failed to update Node Allocatable Limits ${JSON.stringify(cgroup)}`,
    },
  ];
}

/** Removes the protection of memory that a kubelet with the gate MemoryQoS may have left. */
function withoutFormerProtection({ memoryQos, cgroupVersion }: EnforcementHost): Pick<CgroupResources, 'unified'> {
  return memoryQos || cgroupVersion === 1 ? {} : withoutProtection.Guaranteed;
}

function enforceOnDaemons(settings: EnforcementSettings, host: EnforcementHost): Enforcement[] {
  const daemons = [
    { key: 'system-reserved', name: 'System', cgroup: settings.systemReservedCgroup, reserved: settings.systemReserved },
    { key: 'kube-reserved', name: 'Kube', cgroup: settings.kubeReservedCgroup, reserved: settings.kubeReserved },
  ];
  return ['', '-compressible'].flatMap((form) =>
    daemons
      .filter(({ key }) => settings.enforceNodeAllocatable.includes(key + form))
      .map(({ name, cgroup, reserved }) => ({
        change: { cgroup, resources: daemonLimits(reserved, form !== '', host), create: false },
        success: `Updated limits on ${name.toLowerCase()} reserved cgroup ${cgroup}`,
        failure: `Failed to enforce ${name} Reserved ${form === '' ? '' : 'Compressible '}Cgroup Limits on ${JSON.stringify(cgroup)}`,
      })),
  );
}

/** As upstream, huge pages that are not reserved are limited to 0, and MemoryQoS protects the whole limit. */
function daemonLimits(reserved: Readonly<Record<string, string>>, compressibleOnly: boolean, host: EnforcementHost): CgroupResources {
  const limits = toCgroupLimits(reserved, compressibleOnly);
  const isProtected = host.memoryQos && host.cgroupVersion === 2 && limits.memoryBytes !== undefined;
  return {
    hugePageLimits: {},
    ...limits,
    ...allCPUs(host),
    ...(isProtected ? { unified: { 'memory.min': String(limits.memoryBytes) } } : {}),
  };
}

/** Without a list of CPUs, systemd would not keep the controller cpuset. In v1 a cpuset has its parent's CPUs. */
function allCPUs({ machine, cgroupVersion }: EnforcementHost): Pick<CgroupResources, 'cpusetCpus'> {
  return cgroupVersion === 2 && machine.onlineCPUs ? { cpusetCpus: machine.onlineCPUs } : {};
}
