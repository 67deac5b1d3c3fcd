/**
 * Decodes a parsed document by a schema, which turns untyped input into typed values. Never throws, and ignores fields outside of the
 * schema.
 */
import { formatQuantity, parseQuantity, QuantityError } from '../../../shared/kubernetes/quantity.ts';
import { invalid, keyPath } from '../../../shared/kubernetes/field-error.ts';
import { isRFC3339 } from '../../../shared/kubernetes/schema/rfc3339.ts';
import type { Schema, Struct } from '../../../shared/kubernetes/schema/types.ts';
import { zeroOf } from '../../../shared/kubernetes/schema/zero.ts';

/** Bounds the memory of the decoding thread. The largest known pods have some thousands of values. */
const maxValues = 100_000;

/** The state of decoding one manifest. */
export interface Decoding {
  /** Collects one line per error, with the path of the field. */
  readonly errors: string[];
  values: number;
}

/**
 * Returns the value in its canonical form, or undefined when it is absent. Null is absent, as in Go. Type errors go to `decoding.errors`;
 * after an error the returned value is meaningless.
 */
export function decodeValue(schema: Schema, value: unknown, path: string, decoding: Decoding): unknown {
  const isAbsent = value === undefined || value === null;
  if (schema.kind === 'always') return decodePresent(schema.element, isAbsent ? zeroOf(schema.element) : value, path, decoding);
  if (isAbsent) return undefined;
  if (schema.kind === 'pointer') return decodePresent(schema.element, value, path, decoding);
  const decoded = decodePresent(schema, value, path, decoding);
  return isZero(decoded) ? undefined : decoded;
}

function decodePresent(schema: Schema, value: unknown, path: string, decoding: Decoding): unknown {
  decoding.values += sizeOf(value);
  if (decoding.values > maxValues) {
    // Reports the error once and skips the rest of the document.
    if (decoding.values !== Infinity) decoding.errors.push(`more than ${maxValues} values, which no pod needs`);
    decoding.values = Infinity;
    return zeroOf(schema);
  }
  const expect = (ok: boolean, expectation: string) => {
    if (!ok) decoding.errors.push(invalid(path, value, `must be ${expectation}`));
    return ok;
  };
  switch (schema.kind) {
    case 'text':
      return expect(typeof value === 'string', 'a string') && decodeText(value as string, path, decoding);
    case 'bool':
      return expect(typeof value === 'boolean', 'a boolean') && value;
    case 'int32':
      return expect(Number.isInteger(value) && (value as number) === ((value as number) | 0), 'a 32-bit integer') ? value : 0;
    case 'int64':
      return expect(Number.isSafeInteger(value), 'a 64-bit integer') ? value : 0;
    case 'intOrString':
      if (typeof value === 'string') return decodeText(value, path, decoding);
      return expect(Number.isInteger(value) && value === ((value as number) | 0), 'a 32-bit integer or a string') ? value : 0;
    case 'quantity':
      return (
        expect(typeof value === 'string' || typeof value === 'number', 'a quantity') && decodeQuantity(value as string, path, decoding)
      );
    case 'time':
      return expect(typeof value === 'string' && isRFC3339(value), 'a time as of RFC 3339') && value;
    case 'list':
      return expect(Array.isArray(value), 'a list') && decodeList(schema.element, value as unknown[], path, decoding);
    case 'map':
      return expect(isObject(value), 'an object') && decodeMap(schema.element, value as object, path, decoding);
    case 'struct':
      return expect(isObject(value), 'an object') && decodeStruct(schema, value as Record<string, unknown>, path, decoding);
    case 'pointer':
    case 'always':
      return decodeValue(schema, value, path, decoding);
    default:
      return schema satisfies never;
  }
}

/** Rejects NUL. Upstream accepts NUL here and fails later, when a system call or the runtime rejects it. */
function decodeText(value: string, path: string, decoding: Decoding): string {
  if (value.includes('\0')) decoding.errors.push(invalid(path, value, 'must not contain NUL'));
  return value.toWellFormed();
}

function decodeQuantity(value: string | number, path: string, decoding: Decoding): string {
  try {
    return formatQuantity(parseQuantity(String(value).trim()));
  } catch (err) {
    if (!(err instanceof QuantityError)) throw err;
    decoding.errors.push(invalid(path, value, err.message));
    return '0';
  }
}

/** A null element is a zero value: an empty string, or an object without fields. */
function decodeList(elementSchema: Schema, values: readonly unknown[], path: string, decoding: Decoding): unknown[] {
  return values.map((value, index) => decodePresent(elementSchema, value ?? zeroOf(elementSchema), `${path}[${index}]`, decoding));
}

function decodeMap(elementSchema: Schema, value: object, path: string, decoding: Decoding): Record<string, unknown> {
  const entries = Object.entries(value).filter(([key]) => {
    if (key !== '__proto__') return true;
    decoding.errors.push(invalid(path, key, 'not accepted as a key'));
    return false;
  });
  return Object.fromEntries(
    entries.map(([key, element]) => [
      decodeText(key, path, decoding),
      decodePresent(elementSchema, element ?? zeroOf(elementSchema), keyPath(path, key), decoding),
    ]),
  );
}

function decodeStruct(schema: Struct, value: Readonly<Record<string, unknown>>, path: string, decoding: Decoding): Record<string, unknown> {
  const decoded: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.fields)) {
    // Reads own properties only. Names such as `constructor` are inherited.
    const fieldValue = Object.hasOwn(value, name) ? value[name] : undefined;
    if (fieldValue === undefined && field.kind !== 'always') continue;
    const element = decodeValue(field, fieldValue, path === '' ? name : `${path}.${name}`, decoding);
    if (element !== undefined) decoded[name] = element;
  }
  return decoded;
}

/** Counts the elements of a list before decoding any of them. */
function sizeOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 1;
}

/** True for values that Go's `omitempty` omits, and for objects without fields. */
function isZero(value: unknown): boolean {
  if (value === '' || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value as object).length === 0;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
