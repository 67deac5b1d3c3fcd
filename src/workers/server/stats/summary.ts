/**
 * Renders /stats/summary: a Summary of k8s.io/kubelet/pkg/apis/stats/v1alpha1 as JSON. Pure. The text is assembled without objects in between: a node of 500
 * pods has a megabyte of it. Upstream: pkg/kubelet/server/stats/summary.go, pkg/kubelet/stats/helper.go.
 */
import { isMeasured, type CgroupUsage, type InterfaceUsage } from '../../../shared/state/usage-table.ts';
import type { FilesystemUsage } from '../../../shared/state/filesystem-table.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { ClaimedVolumeRow } from '../../../shared/state/claimed-volumes-table.ts';
import type { PodStorage } from '../../../shared/state/storage-table.ts';
import { filesystemFields, timeJSON } from './filesystem-json.ts';
import type { NodeUsage, PodUsage } from './group-usage.ts';
import { containerStorageFields, podStorageFields } from './pod-storage.ts';
import type { Rlimit } from '../../../shared/linux/read-rlimit.ts';

export interface SummaryNode {
  readonly nodeName: string;
  /** Wall-clock ms. */
  readonly bootedAtMs: number;
  readonly kubeletStartedAtMs: number;
  /** 0 without the feature gate HugepageAwareEviction. */
  readonly hugePagesBytes: number;
}

export interface SummaryOptions {
  readonly onlyCpuAndMemory: boolean;
  readonly filesystems: NodeFilesystemUsage;
  /** The disk usage of pods. */
  readonly storage: ReadonlyMap<PodUID, PodStorage>;
  /** The claims behind the volumes of pods. */
  readonly claimedVolumes?: ReadonlyMap<string, readonly ClaimedVolumeRow[]>;
  readonly rlimit: Rlimit;
  readonly nowMs: number;
}

/** Undefined: not measured yet. */
export interface NodeFilesystemUsage {
  readonly root: FilesystemUsage | undefined;
  readonly image: FilesystemUsage | undefined;
  readonly container: FilesystemUsage | undefined;
}

/** Yields the text in pieces of about 64 KB. */
export function* renderSummary(node: SummaryNode, usage: NodeUsage, options: SummaryOptions): Generator<string> {
  let piece = `{"node":${nodeStats(node, usage, options)},"pods":[`;
  for (const [index, pod] of usage.pods.entries()) {
    if (index > 0) piece += ',';
    piece += podStats(pod, options);
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]}`;
}

/** In characters. */
const pieceLength = 64 * 1024;

function nodeStats(node: SummaryNode, { root, systemContainers }: NodeUsage, options: SummaryOptions): string {
  const startedAtMs = options.onlyCpuAndMemory ? (root?.identity.createdAtMs ?? node.bootedAtMs) : node.bootedAtMs;
  const system = systemContainers.map((row) =>
    containerStats(row, row.identity.kind, row.identity.kind === 'kubelet' ? node.kubeletStartedAtMs : row.identity.createdAtMs, options),
  );
  const fields = [
    `"nodeName":${JSON.stringify(node.nodeName)}`,
    system.length > 0 && `"systemContainers":[${system.join(',')}]`,
    `"startTime":${timeJSON(startedAtMs)}`,
    root && usageFields(root, options, node.hugePagesBytes),
  ];
  if (!options.onlyCpuAndMemory) {
    const { filesystems, rlimit, nowMs } = options;
    if (root) fields.push(networkStats(root));
    fields.push(
      filesystems.root && `"fs":{${filesystemFields(filesystems.root, filesystems.root)}}`,
      `"runtime":${object([
        filesystems.image && `"imageFs":{${filesystemFields(filesystems.image, filesystems.image)}}`,
        filesystems.container && `"containerFs":{${filesystemFields(filesystems.container, filesystems.container)}}`,
      ])}`,
      `"rlimit":${object([
        `"time":${timeJSON(nowMs)}`,
        rlimit.maxPID !== undefined && `"maxpid":${rlimit.maxPID}`,
        rlimit.tasks !== undefined && `"curproc":${rlimit.tasks}`,
      ])}`,
    );
  }
  return object(fields);
}

function podStats({ podName, podNamespace, podUID, pod, sandbox, containers }: PodUsage, options: SummaryOptions): string {
  const startedAtMs = sandbox?.identity.createdAtMs ?? pod?.identity.createdAtMs ?? 0;
  const fields = [
    `"podRef":{"name":${JSON.stringify(podName)},"namespace":${JSON.stringify(podNamespace)},"uid":${JSON.stringify(podUID)}}`,
    `"startTime":${timeJSON(startedAtMs)}`,
    `"containers":[${containers.map((row) => containerStats(row, row.identity.containerName, row.identity.createdAtMs, options)).join(',')}]`,
    pod && usageFields(pod, options),
  ];
  if (!options.onlyCpuAndMemory) {
    if (sandbox) fields.push(networkStats(sandbox));
    fields.push(
      ...podStorageFields(options.storage.get(podUID as PodUID), containers, options.filesystems.root, options.claimedVolumes?.get(podUID)),
    );
    let processes = sandbox?.values.processes ?? 0;
    for (const { values } of containers) processes += values.processes;
    fields.push(`"process_stats":{"process_count":${processes}}`);
  }
  return object(fields);
}

function containerStats(row: CgroupUsage, name: string, startedAtMs: number, options: SummaryOptions): string {
  const fields = [
    `"name":${JSON.stringify(name)}`,
    `"startTime":${timeJSON(startedAtMs)}`,
    ...(isMeasured(row) ? [usageFields(row, options)] : []),
  ];
  const { kind, podUID } = row.identity;
  if (kind === 'container' && !options.onlyCpuAndMemory) {
    fields.push(...containerStorageFields(row, options.storage.get(podUID as PodUID), options.filesystems));
  }
  return object(fields);
}

/**
 * The fields cpu, memory, io and swap of a container, a pod or the node.
 * @param unavailableBytes the node's huge pages: part of its memory that other allocations cannot use
 */
function usageFields({ values }: CgroupUsage, { onlyCpuAndMemory }: SummaryOptions, unavailableBytes = 0): string {
  const at = `"time":${timeJSON(values.sampledAtMs)}`;
  const { memoryLimitBytes, memoryWorkingSetBytes, memorySwapLimitBytes, swapBytes } = values;
  // There is no rate after the first sample.
  const nanoCores = Number.isNaN(values.cpuNanoCores) ? '' : `"usageNanoCores":${values.cpuNanoCores},`;
  const availableBytes = memoryLimitBytes - memoryWorkingSetBytes;
  const usableBytes = unavailableBytes === 0 ? availableBytes : Math.max(0, availableBytes - unavailableBytes);
  const available = Number.isFinite(memoryLimitBytes) ? `"availableBytes":${integer(usableBytes)},` : '';
  const swapAvailable = Number.isFinite(memorySwapLimitBytes) ? `"swapAvailableBytes":${integer(memorySwapLimitBytes - swapBytes)},` : '';
  const v = values;
  const cpuPressure = pressure(
    v.cpuSomeTotalUs,
    v.cpuSomeAvg10,
    v.cpuSomeAvg60,
    v.cpuSomeAvg300,
    v.cpuFullTotalUs,
    v.cpuFullAvg10,
    v.cpuFullAvg60,
    v.cpuFullAvg300,
  );
  const memoryPressure = pressure(
    v.memorySomeTotalUs,
    v.memorySomeAvg10,
    v.memorySomeAvg60,
    v.memorySomeAvg300,
    v.memoryFullTotalUs,
    v.memoryFullAvg10,
    v.memoryFullAvg60,
    v.memoryFullAvg300,
  );
  const cpu = `"cpu":{${at},${nanoCores}"usageCoreNanoSeconds":${values.cpuUsageNs},${cpuPressure}}`;
  const memory =
    `"memory":{${at},${available}"usageBytes":${values.memoryUsageBytes},"workingSetBytes":${memoryWorkingSetBytes},"rssBytes":${values.memoryRssBytes}` +
    `,"pageFaults":${values.pageFaults},"majorPageFaults":${values.majorPageFaults},${memoryPressure}}`;
  const swap = `"swap":{${at},${swapAvailable}"swapUsageBytes":${swapBytes}}`;
  if (onlyCpuAndMemory) return `${cpu},${memory},${swap}`;
  const ioPressure = pressure(
    v.ioSomeTotalUs,
    v.ioSomeAvg10,
    v.ioSomeAvg60,
    v.ioSomeAvg300,
    v.ioFullTotalUs,
    v.ioFullAvg10,
    v.ioFullAvg60,
    v.ioFullAvg300,
  );
  return `${cpu},${memory},"io":{${at},${ioPressure}},${swap}`;
}

function pressure(
  someTotal: number,
  some10: number,
  some60: number,
  some300: number,
  fullTotal: number,
  full10: number,
  full60: number,
  full300: number,
): string {
  // The averages of a total of 0 are 0. Without the kernel's measurement all values are 0.
  if (someTotal === 0 && fullTotal === 0) return noPressure;
  return (
    `"psi":{"full":{"total":${fullTotal},"avg10":${full10},"avg60":${full60},"avg300":${full300}}` +
    `,"some":{"total":${someTotal},"avg10":${some10},"avg60":${some60},"avg300":${some300}}}`
  );
}

const noPressure = '"psi":{"full":{"total":0,"avg10":0,"avg60":0,"avg300":0},"some":{"total":0,"avg10":0,"avg60":0,"avg300":0}}';

/** Upstream's default interface, whose numbers are repeated beside the list. */
const defaultInterface = 'eth0';

function networkStats({ values }: CgroupUsage): string {
  const interfaces = (JSON.parse(values.network) as InterfaceUsage[]).map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({
    name,
    text: `"name":${JSON.stringify(name)},"rxBytes":${rxBytes},"rxErrors":${rxErrors},"txBytes":${txBytes},"txErrors":${txErrors}`,
  }));
  const main = interfaces.find(({ name }) => name === defaultInterface)?.text ?? '"name":""';
  const list = interfaces.length > 0 ? `,"interfaces":[${interfaces.map(({ text }) => `{${text}}`).join(',')}]` : '';
  return `"network":{"time":${timeJSON(values.sampledAtMs)},${main}${list}}`;
}

/** At least 0: a usage that was read at another moment than its limit may exceed the limit. */
function integer(value: number): number {
  return Math.max(0, Math.trunc(value));
}

function object(fields: readonly (string | false | undefined)[]): string {
  let text = '';
  for (const field of fields) if (field) text += text === '' ? field : `,${field}`;
  return `{${text}}`;
}
