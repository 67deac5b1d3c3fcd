/**
 * The I/O and the networks of the node's own cgroups, in the buffer of the usage table. A node has disks and interfaces by the hundred (one of each pod, with some
 * network plugins), while the columns of the usage table bound what a tenant can add. Written by the stats thread.
 */
import { boundedText, u32 } from './table-layout.ts';
import { defineTable, type TableReader, type TableWriter } from './typed-table.ts';
import type { CgroupKind } from './usage-fields.ts';

const fields = {
  /** The row of the usage table, and the version of its identity. */
  row: u32,
  identityVersion: u32,
  /** As in the usage table. */
  io: boundedText(32_766),
  network: boundedText(65_534),
};

export const nodeTextsTable = defineTable('usage-node-texts', fields);
/** The root, the kubelet, the runtime, misc, all pods, and three QoS levels. */
export const nodeTextsCapacity = 8;
/** Bytes of JSON for the cgroups of the node, and for those of tenants. */
export const maxIoBytes = { node: fields.io.width, tenant: 1022 } as const;
export const maxNetworkBytes = { node: fields.network.width, tenant: 2046 } as const;

const tenantKinds: ReadonlySet<CgroupKind> = new Set<CgroupKind>(['pod', 'sandbox', 'container']);

export function ownerOf(kind: CgroupKind): 'node' | 'tenant' {
  return tenantKinds.has(kind) ? 'tenant' : 'node';
}

export interface UsageTexts {
  readonly io: string;
  readonly network: string;
}

export class NodeTextsWriter {
  readonly #table: TableWriter<typeof fields>;
  readonly #slots = new Map<number, number>();

  constructor(buffer: SharedArrayBuffer, offset: number) {
    this.#table = nodeTextsTable.writer(buffer, offset, Array.from(Array(nodeTextsCapacity).keys()));
  }

  /** Throws RangeError for a boundedText that is too long. Beyond the capacity nothing is stored. */
  put(row: number, identityVersion: number, { io, network }: UsageTexts): void {
    const used = new Set(this.#slots.values());
    const slot = this.#slots.get(row) ?? Array.from(Array(nodeTextsCapacity).keys()).find((each) => !used.has(each));
    if (slot === undefined) return;
    this.#table.put(slot, { row, identityVersion, io, network });
    this.#slots.set(row, slot);
  }

  remove(row: number): void {
    const slot = this.#slots.get(row);
    if (slot === undefined) return;
    this.#table.free(slot);
    this.#slots.delete(row);
  }
}

/** Undefined when the row has none. */
export function readNodeTexts(table: TableReader<typeof fields>, row: number, identityVersion: number): UsageTexts | undefined {
  for (let slot = 0; slot < nodeTextsCapacity; slot += 1) {
    if (table.get(slot, 'row') !== row || table.get(slot, 'identityVersion') !== identityVersion) continue;
    const found = table.read(slot);
    if (found) return { io: found.io, network: found.network };
  }
  return undefined;
}
