/**
 * Converts the runtime's stats of sandboxes (CRI ListPodSandboxStats) to values of the usage table. Pure. Upstream: pkg/kubelet/stats/cri_stats_provider.go and
 * cri_stats_provider_linux.go.
 */
import type {
  ContainerStats,
  LinuxPodSandboxStats,
  NetworkInterfaceUsage,
  PodSandboxStats,
  PsiStats,
} from '../../../shared/cri/generated/cri-v1.ts';
import type { SnapshotItem } from '../../../shared/state/runtime-snapshot.ts';
import { maxNetworkBytes } from '../../../shared/state/node-texts-table.ts';
import type { CgroupIdentity, InterfaceUsage, UsageValues } from '../../../shared/state/usage-table.ts';
import { toBoundedJSON } from '../parse-cgroup-files.ts';

export interface RuntimeUsage {
  /** The path is empty: the runtime does not name cgroups. */
  readonly identity: CgroupIdentity;
  /** What the runtime has measured. */
  readonly values: Partial<UsageValues>;
}

/** Returns the key of a container, a sandbox or a pod. It is the same with and without a cgroup. */
export function usageKey({ kind, containerID, podUID }: Pick<CgroupIdentity, 'kind' | 'containerID' | 'podUID'>): string {
  return kind === 'pod' ? `pod ${podUID}` : containerID;
}

/** @param items the running items of the runtime, by ID; others are ignored */
export function toUsage(stats: readonly PodSandboxStats[], items: ReadonlyMap<string, SnapshotItem>): Map<string, RuntimeUsage> {
  const found = new Map<string, RuntimeUsage>();
  const add = (item: SnapshotItem, kind: CgroupIdentity['kind'], values: Partial<UsageValues>) => {
    const identity = identityOfItem(item, kind);
    found.set(usageKey(identity), { identity, values });
  };
  for (const { attributes, linux } of stats) {
    const sandbox = items.get(attributes?.id ?? '');
    if (!sandbox || !linux) continue;
    add(sandbox, 'pod', commonValues(linux));
    add(sandbox, 'sandbox', sandboxValues(linux));
    for (const container of linux.containers) {
      const item = items.get(container.attributes?.id ?? '');
      if (item) add(item, 'container', containerValues(container));
    }
  }
  return found;
}

/** The identity of a container, a sandbox or a pod without a cgroup. */
export function identityOfItem(item: SnapshotItem, kind: CgroupIdentity['kind']): CgroupIdentity {
  const { id, podUID, podName, podNamespace, containerName, image, createdAtMs } = item;
  const containerID = kind === 'pod' ? ('' as const) : id;
  return { kind, path: '', podUID, podName, podNamespace, containerName, containerID, image, createdAtMs };
}

export function containerValues(stats: ContainerStats): Partial<UsageValues> {
  return { ...commonValues(stats), ...swapValues(stats) };
}

function commonValues({ cpu, memory, io }: Pick<ContainerStats, 'cpu' | 'memory' | 'io'>): Partial<UsageValues> {
  return {
    ...(cpu && {
      sampledAtMs: Number(cpu.timestamp / 1_000_000n),
      cpuUsageNs: cpu.usageCoreNanoSeconds?.value ?? 0n,
      ...(cpu.usageNanoCores && { cpuNanoCores: Number(cpu.usageNanoCores.value) }),
      ...pressureValues('cpu', cpu.psi),
    }),
    ...(memory && {
      memoryUsageBytes: number(memory.usageBytes),
      memoryWorkingSetBytes: number(memory.workingSetBytes),
      memoryRssBytes: number(memory.rssBytes),
      pageFaults: number(memory.pageFaults),
      majorPageFaults: number(memory.majorPageFaults),
      // The runtime reports limit − working set as `availableBytes`, if there is a limit.
      memoryLimitBytes: memory.availableBytes ? number(memory.availableBytes) + number(memory.workingSetBytes) : Infinity,
      ...pressureValues('memory', memory.psi),
    }),
    ...(io && pressureValues('io', io.psi)),
  };
}

function swapValues({ swap }: ContainerStats): Partial<UsageValues> {
  if (!swap) return {};
  const swapBytes = number(swap.swapUsageBytes);
  return { swapBytes, memorySwapLimitBytes: swap.swapAvailableBytes ? number(swap.swapAvailableBytes) + swapBytes : Infinity };
}

function sandboxValues({ network, process }: LinuxPodSandboxStats): Partial<UsageValues> {
  const interfaces = [...(network?.defaultInterface ? [network.defaultInterface] : []), ...(network?.interfaces ?? [])];
  const named = new Map(interfaces.map((each) => [each.name, toInterface(each)]));
  return {
    ...(network && { network: toBoundedJSON([...named.values()], maxNetworkBytes.tenant) }),
    ...(process && { processes: number(process.processCount) }),
  };
}

function toInterface({ name, rxBytes, rxErrors, txBytes, txErrors }: NetworkInterfaceUsage): InterfaceUsage {
  const unknown = { rxPackets: 0, rxDropped: 0, txPackets: 0, txDropped: 0 };
  return { name, ...unknown, rxBytes: number(rxBytes), rxErrors: number(rxErrors), txBytes: number(txBytes), txErrors: number(txErrors) };
}

function pressureValues(prefix: 'cpu' | 'memory' | 'io', psi: PsiStats | undefined): Partial<UsageValues> {
  if (!psi) return {};
  const values = (['Some', 'Full'] as const).flatMap((who) => {
    const data = psi[who];
    return [
      [`${prefix}${who}TotalUs`, Number(data?.Total ?? 0n)],
      [`${prefix}${who}Avg10`, data?.Avg10 ?? 0],
      [`${prefix}${who}Avg60`, data?.Avg60 ?? 0],
      [`${prefix}${who}Avg300`, data?.Avg300 ?? 0],
    ] as const;
  });
  return Object.fromEntries(values);
}

function number(value: { readonly value: bigint } | undefined): number {
  return Number(value?.value ?? 0n);
}
