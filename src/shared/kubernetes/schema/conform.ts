/**
 * Normalizes an object from the API server to its schema, like Go's decoder: null is absent, and a required field that is absent
 * gets its zero value. Unknown fields stay, because a newer server may send more. A field with the wrong type is an error;
 * upstream then rejects the whole response.
 * An object that needs no change is returned as it is, which is the common case.
 */
import { parseQuantity, QuantityError } from '../quantity.ts';
import { isRFC3339 } from './rfc3339.ts';
import type { Schema, Struct } from './types.ts';
import { zeroOf } from './zero.ts';

export type Conformed = { readonly value: unknown; readonly problem: null } | { readonly value: null; readonly problem: string };

/** Limits the depth of fields that the schema does not know, because code that compares, copies or prints an object recurses into it. */
const maxUnknownDepth = 64;
/** JSON.parse rounds an int64's maximum, 2^63 − 1, to this double. */
const maxInt64 = 2 ** 63;

export function conform(schema: Schema, value: unknown): Conformed {
  try {
    return { value: conformPresent(schema, value), problem: null };
  } catch (err) {
    if (!(err instanceof Misfit)) throw err;
    return { value: null, problem: `${err.path.toReversed().join('.') || 'it'} must be ${err.message}` };
  }
}

class Misfit extends Error {
  /** From the innermost field outwards. */
  readonly path: string[] = [];
}

function conformPresent(schema: Schema, value: unknown): unknown {
  switch (schema.kind) {
    case 'text':
      if (typeof value !== 'string') throw new Misfit('a string');
      return value.isWellFormed() ? value : value.toWellFormed();
    case 'bool':
      if (typeof value !== 'boolean') throw new Misfit('a boolean');
      return value;
    case 'int32':
      if (!isInt32(value)) throw new Misfit('a 32-bit integer');
      return value;
    case 'int64':
      return conformInt64(value);
    case 'intOrString':
      if (typeof value !== 'string' && !isInt32(value)) throw new Misfit('a 32-bit integer or a string');
      return value;
    case 'quantity':
      return conformQuantity(value);
    case 'time':
      if (typeof value !== 'string' || !isRFC3339(value)) throw new Misfit('a time as of RFC 3339');
      return value;
    case 'list':
      return conformList(schema.element, value);
    case 'map':
      return conformMap(schema.element, value);
    case 'struct':
      return conformStruct(schema, value);
    case 'pointer':
    case 'always':
      return conformPresent(schema.element, value);
    default:
      return schema satisfies never;
  }
}

function isInt32(value: unknown): boolean {
  return Number.isInteger(value) && value === ((value as number) | 0);
}

/** Moves an integer outside of the safe range to the nearest safe one: as a double it has lost its last digits anyway. */
function conformInt64(value: unknown): number {
  if (!Number.isInteger(value) || Math.abs(value as number) > maxInt64) throw new Misfit('a 64-bit integer');
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, value as number));
}

function conformQuantity(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number') throw new Misfit('a quantity');
  try {
    parseQuantity(String(value));
  } catch (err) {
    if (err instanceof QuantityError) throw new Misfit(`a quantity: ${err.message}`, { cause: err });
    throw err;
  }
  return String(value);
}

function conformList(elementSchema: Schema, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Misfit('a list');
  let changed: unknown[] | null = null;
  for (const [index, element] of value.entries()) {
    const next = withFieldPath(`[${index}]`, () => conformPresent(elementSchema, element ?? zeroOf(elementSchema)));
    if (next !== element) (changed ??= [...(value as unknown[])])[index] = next;
  }
  return changed ?? value;
}

function conformMap(elementSchema: Schema, value: unknown): object {
  if (!isObject(value)) throw new Misfit('an object');
  let changed: Record<string, unknown> | null = null;
  for (const [key, element] of Object.entries(value)) {
    const next = withFieldPath(key, () => conformPresent(elementSchema, element ?? zeroOf(elementSchema)));
    if (next !== element) (changed ??= { ...value })[key] = next;
  }
  return changed ?? value;
}

function conformStruct(schema: Struct, value: unknown): object {
  if (!isObject(value)) throw new Misfit('an object');
  let changed: Record<string, unknown> | null = null;
  for (const [name, field] of Object.entries(schema.fields)) {
    const fieldValue = Object.hasOwn(value, name) ? value[name] : undefined;
    if (fieldValue === undefined || fieldValue === null) {
      const zero = field.kind === 'always' ? withFieldPath(name, () => conformPresent(field, zeroOf(field))) : undefined;
      if (zero === undefined && fieldValue === undefined) continue;
      changed ??= { ...value };
      if (zero === undefined) delete changed[name];
      else changed[name] = zero;
      continue;
    }
    const next = withFieldPath(name, () => conformPresent(field, fieldValue));
    if (next !== fieldValue) (changed ??= { ...value })[name] = next;
  }
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(schema.fields, name) && isDeeperThan(maxUnknownDepth, value[name])) {
      throw misfitAt(name, new Misfit(`less than ${maxUnknownDepth} levels deep`));
    }
  }
  return changed ?? value;
}

function withFieldPath<T>(field: string, work: () => T): T {
  try {
    return work();
  } catch (err) {
    throw misfitAt(field, err);
  }
}

function misfitAt(field: string, err: unknown): unknown {
  // A hostile key may have megabytes.
  if (err instanceof Misfit) err.path.push(field.slice(0, 100));
  return err;
}

/** The recursion stops at the limit. */
function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((element) => isDeeperThan(levels - 1, element));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
