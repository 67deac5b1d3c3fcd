/** Computes what differs between the inventories of two versions. Pure. */
import type { Inventory, Things } from './inventory.ts';

/** Undefined on one side: it is not there. */
export interface Difference {
  readonly name: string;
  /** The new name of a thing that is the same otherwise. */
  readonly renamedTo?: string;
  readonly before?: string;
  readonly after?: string;
  /** The package that has it, or had it. */
  readonly in: string;
}

/** Returns the differences of each kind that either version has, sorted by name. A thing that was moved to another package does not differ. */
export function computeDifferences(before: Inventory, after: Inventory): Map<string, Difference[]> {
  const kinds = new Set([...Object.keys(before), ...Object.keys(after)]);
  return new Map([...kinds].map((kind) => [kind, joinRenamed(differencesOf(before[kind] ?? {}, after[kind] ?? {}))]));
}

function differencesOf(before: Things, after: Things): Difference[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].toSorted().flatMap((name) => {
    const [old, now] = [before[name], after[name]];
    if (old?.is === now?.is) return [];
    return [{ name, in: (now ?? old)?.in ?? '', ...(old && { before: old.is }), ...(now && { after: now.is }) }];
  });
}

/**
 * Values of an enumeration and fields of a message have numbers: one that is removed and one that is added with the same number in the same type
 * is renamed.
 */
function joinRenamed(differences: readonly Difference[]): Difference[] {
  const added = new Map(
    differences.flatMap((one) => (one.before === undefined ? numbered(one.name, one.after).map((key) => [key, one]) : [])),
  );
  const taken = new Set<Difference>();
  const joined = differences.map((one) => {
    const [key] = one.after === undefined ? numbered(one.name, one.before) : [];
    const successor = key === undefined ? undefined : added.get(key);
    if (successor?.after === undefined) return one;
    taken.add(successor);
    return { ...one, renamedTo: successor.name, after: successor.after };
  });
  return joined.filter((one) => !taken.has(one));
}

/** `[runtime/v1 Signal#23]` for a member of this type. None for what has no number. */
function numbered(name: string, is = ''): string[] {
  const [, number] = /^(?:.* = )?(\d+)(?:, deprecated)?$/.exec(is) ?? [];
  const dot = name.lastIndexOf('.');
  return number === undefined || dot < 0 ? [] : [`${name.slice(0, dot)}#${number}`];
}
