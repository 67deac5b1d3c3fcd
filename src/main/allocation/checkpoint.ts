/**
 * Encodes and decodes the checkpoint file `allocated_pods_state`. A Go kubelet reads and writes the same format, and does not start
 * on a wrong checksum. Upstream: pkg/kubelet/allocation/state/checkpoint.go, pkg/kubelet/checkpointmanager/checksum.
 */
import type { ResourceRequirements } from '../../shared/kubernetes/api.ts';
import { fnv32a } from '../../shared/kubernetes/container-hash.ts';
import { toGoJSON } from '../../shared/kubernetes/go-text.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { parseQuantity } from '../../shared/kubernetes/quantity.ts';
import type { RecordedResources } from './pod-allocation.ts';

/** One pod's allocation, with the field names of the Go struct. */
interface Entry {
  readonly ContainerResources: Readonly<Record<string, ResourceRequirements>> | null;
  readonly PodLevelResources?: ResourceRequirements | null;
  /** By volume. */
  readonly EmptyDirVolumeLimits?: Readonly<Record<string, string>> | null;
}

export function encodeAllocations(allocations: ReadonlyMap<PodUID, RecordedResources>): string {
  const entries = [...allocations].map(([uid, { containers, podLevel = null, emptyDirLimits, others }]): [string, Entry] => [
    uid,
    {
      ContainerResources: Object.fromEntries(containers),
      PodLevelResources: podLevel,
      EmptyDirVolumeLimits: emptyDirLimits ? Object.fromEntries(emptyDirLimits) : null,
      ...others,
    },
  ]);
  const data = toGoJSON(entries.length > 0 ? { entries: Object.fromEntries(entries) } : {});
  return toGoJSON({ data, checksum: checksumOf(data) });
}

/** Throws when the content is malformed or its checksum is wrong. */
export function decodeAllocations(content: string): Map<PodUID, RecordedResources> {
  const { data, checksum } = objectOf(JSON.parse(content), 'checkpoint');
  if (typeof data !== 'string') throw new Error('it has no data');
  if (checksum !== checksumOf(data)) throw new Error('checkpoint is corrupted');
  const entries = Object.entries(objectOf(objectOf(JSON.parse(data), 'data')['entries'] ?? {}, 'entries'));
  return new Map(entries.map(([uid, entry]) => [uid as PodUID, allocationIn(objectOf(entry, uid))]));
}

/** Upstream hashes the string as go-spew prints it (dump.ForHash): with its type in front. */
function checksumOf(data: string): number {
  return fnv32a(Buffer.from(`(string)${data}`));
}

function allocationIn({
  ContainerResources,
  PodLevelResources,
  EmptyDirVolumeLimits,
  ...others
}: Readonly<Record<string, unknown>>): RecordedResources {
  const containers = Object.entries(objectOf(ContainerResources ?? {}, 'ContainerResources'));
  // Go's amounts are pointers, which may be null.
  const limits = Object.entries(objectOf(EmptyDirVolumeLimits ?? {}, 'EmptyDirVolumeLimits')).flatMap(([name, amount]) => {
    if (amount === null) return [];
    if (typeof amount !== 'string') throw new Error(`the limit of the volume ${name} is no string`);
    parseQuantity(amount);
    return [[name, amount] as const];
  });
  return {
    containers: new Map(containers.map(([name, resources]) => [name, requirementsIn(resources)])),
    ...(PodLevelResources ? { podLevel: requirementsIn(PodLevelResources) } : {}),
    ...(limits.length > 0 ? { emptyDirLimits: new Map(limits) } : {}),
    ...(Object.values(others).some((value) => value !== null) ? { others } : {}),
  };
}

/** Validates the quantities here, because an invalid one would fail later in the main thread. */
function requirementsIn(value: unknown): ResourceRequirements {
  const resources = objectOf(value, 'resources');
  for (const list of [resources['limits'], resources['requests']]) {
    for (const amount of Object.values(objectOf(list ?? {}, 'resource list'))) parseQuantity(String(amount));
  }
  return resources;
}

function objectOf(value: unknown, description: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${description} is no object`);
  return value as Readonly<Record<string, unknown>>;
}
