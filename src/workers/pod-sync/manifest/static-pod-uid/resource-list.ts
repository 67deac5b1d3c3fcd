/** Resource lists of a manifest, with the operations of upstream's helpers (component-helpers resource/helpers.go). */
import { addGoQuantities, greaterGoQuantity, parseGoQuantity, zeroGoQuantity, type GoQuantity } from './go-quantity.ts';

export type GoResourceList = Map<string, GoQuantity>;

/** Parses a quantity of a document. A number is parsed from its JSON text. */
export function readQuantity(given: unknown): GoQuantity {
  if (typeof given !== 'string' && typeof given !== 'number') return zeroGoQuantity;
  return parseGoQuantity(String(given).trim());
}

/** Reads a list of a document, or returns a list that is already parsed. Null is a nil list. */
export function readResourceList(given: unknown): GoResourceList | null {
  if (given instanceof Map) return given as GoResourceList;
  if (typeof given !== 'object' || given === null) return null;
  return new Map(Object.entries(given).map(([name, quantity]) => [name.toWellFormed(), readQuantity(quantity)]));
}

/** Adds the amounts of `more` to `list`, in place. */
export function addResources(list: GoResourceList, more: GoResourceList): void {
  for (const [name, quantity] of more) {
    const sum = list.get(name);
    list.set(name, sum ? addGoQuantities(sum, quantity) : quantity);
  }
}

/** Raises each amount of `list` to at least the amount of `other`, in place. */
export function raiseResources(list: GoResourceList, other: GoResourceList): void {
  for (const [name, quantity] of other) {
    const current = list.get(name);
    list.set(name, current ? greaterGoQuantity(quantity, current) : quantity);
  }
}

/** Adds the missing resources to `list`, in place. */
export function completeResources(list: GoResourceList, from: GoResourceList, isWanted: (name: string) => boolean = () => true): void {
  for (const [name, quantity] of from) if (!list.has(name) && isWanted(name)) list.set(name, quantity);
}
