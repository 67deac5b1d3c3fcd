/**
 * The I/O and the network interfaces of the node's own cgroups, as JSON. The usage table has short columns for both, which bound what a tenant can add. A node needs
 * longer ones: it has disks and interfaces by the hundred (with some network plugins, an interface for each pod). In the buffer of the usage table. Written by the
 * stats thread.
 */
import { boundedText, u32 } from './table-layout.ts';
import { defineTable, type TableReader, type TableWriter } from './typed-table.ts';
import type { CgroupKind } from './usage-fields.ts';

const fields = {
  /** The row of the usage table, and the version of its identity. */
  row: u32,
  identityVersion: u32,
  /** JSON as in the usage table. With its length (2 bytes), `io` takes 32 KiB and `network` 64 KiB. */
  io: boundedText(32_766),
  network: boundedText(65_534),
};

export const nodeTextsTable = defineTable('usage-node-texts', fields);
/** The root, the kubelet, the runtime, misc, all pods, and three QoS levels. */
export const nodeTextsCapacity = 8;
/** The longest JSON for a cgroup of the node (here), and for one of a tenant (in the usage table: 1 and 2 KiB with the length). */
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
  /** The row of this table for each row of the usage table. */
  readonly #slots = new Map<number, number>();

  constructor(buffer: SharedArrayBuffer, offset: number) {
    this.#table = nodeTextsTable.writer(buffer, offset, Array.from(Array(nodeTextsCapacity).keys()));
  }

  /** Throws RangeError for a text that is too long. Stores nothing when all rows of this table are taken. */
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

/** Returns the texts of a row of the usage table. Undefined when this table has none for that version of the row. */
export function readNodeTexts(table: TableReader<typeof fields>, row: number, identityVersion: number): UsageTexts | undefined {
  for (let slot = 0; slot < nodeTextsCapacity; slot += 1) {
    if (table.get(slot, 'row') !== row || table.get(slot, 'identityVersion') !== identityVersion) continue;
    const found = table.read(slot);
    if (found) return { io: found.io, network: found.network };
  }
  return undefined;
}
