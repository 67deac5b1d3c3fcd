/** Lists of resources as a manifest writes them, and what upstream's helpers do with them (component-helpers resource/helpers.go). */
import { addGoQuantities, greaterGoQuantity, parseGoQuantity, zeroGoQuantity, type GoQuantity } from './go-quantity.ts';

export type ResourceList = Map<string, GoQuantity>;

/** What a document has for a quantity. A number is read as the text that it is in JSON. */
export function readQuantity(given: unknown): GoQuantity {
  if (typeof given !== 'string' && typeof given !== 'number') return zeroGoQuantity;
  return parseGoQuantity(String(given).trim());
}

/** What a document has for a list, or a list that stands in its place; null is a nil one. */
export function readResourceList(given: unknown): ResourceList | null {
  if (given instanceof Map) return given as ResourceList;
  if (typeof given !== 'object' || given === null) return null;
  return new Map(Object.entries(given).map(([name, quantity]) => [name.toWellFormed(), readQuantity(quantity)]));
}

/** Adds to `list` in place. */
export function addResources(list: ResourceList, more: ResourceList): void {
  for (const [name, quantity] of more) {
    const sum = list.get(name);
    list.set(name, sum ? addGoQuantities(sum, quantity) : quantity);
  }
}

/** Raises `list` in place to what `other` has more of. */
export function raiseResources(list: ResourceList, other: ResourceList): void {
  for (const [name, quantity] of other) {
    const most = list.get(name);
    list.set(name, most ? greaterGoQuantity(quantity, most) : quantity);
  }
}

/** Adds to `list` in place what it has not. */
export function completeResources(list: ResourceList, from: ResourceList, isWanted: (name: string) => boolean = () => true): void {
  for (const [name, quantity] of from) if (!list.has(name) && isWanted(name)) list.set(name, quantity);
}
