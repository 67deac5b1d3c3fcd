/**
 * Reads the fields of a kubeconfig by the rules of Go's JSON: null is the same as absent, an absent field has its zero value, unknown fields
 * are ignored. Problems are recorded with their field path and never quote a value, because a kubeconfig contains secrets.
 */
import { isMap } from '../../config/field-codecs.ts';
import type { FieldPath } from '../../config/field-path.ts';

export class FieldReader {
  readonly fieldPath: FieldPath;
  readonly #value: Readonly<Record<string, unknown>>;

  constructor(value: unknown, fieldPath: FieldPath) {
    this.fieldPath = fieldPath;
    this.#value = isMap(value) ? value : {};
    if (value !== undefined && value !== null && !isMap(value)) fieldPath.addProblem(`must be a map of fields, is ${kindOf(value)}`);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#value, name) && this.#value[name] !== undefined && this.#value[name] !== null;
  }
  raw(name: string): unknown {
    return this.has(name) ? this.#value[name] : undefined;
  }
  text(name: string): string {
    return this.#read(name, (value) => (typeof value === 'string' ? value : undefined), 'a string', '');
  }
  flag(name: string): boolean {
    return this.#read(name, (value) => (typeof value === 'boolean' ? value : undefined), 'true or false', false);
  }
  texts(name: string): string[] {
    return this.items(name).flatMap(({ value, fieldPath }) => {
      if (typeof value === 'string') return [value];
      fieldPath.addProblem(`must be a string, is ${kindOf(value)}`);
      return [];
    });
  }
  items(name: string): { readonly value: unknown; readonly fieldPath: FieldPath }[] {
    const list = this.#read<unknown[]>(name, (value) => (Array.isArray(value) ? value : undefined), 'a list', []);
    return list.map((value, index) => ({ value, fieldPath: this.fieldPath.child(name).child(index) }));
  }
  fields(name: string): FieldReader {
    return new FieldReader(this.raw(name), this.fieldPath.child(name));
  }
  names(): string[] {
    return Object.keys(this.#value);
  }

  /** Decodes base64. Empty when absent. */
  bytes(name: string): Buffer {
    const encoded = this.text(name).replaceAll(/[\r\n]/g, '');
    // Go requires padding and rejects other characters. Buffer.from would skip them.
    if (encoded.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) return Buffer.from(encoded, 'base64');
    this.fieldPath.child(name).addProblem('is not base64');
    return Buffer.alloc(0);
  }

  #read<T>(name: string, parse: (value: unknown) => T | undefined, expectation: string, fallback: T): T {
    if (!this.has(name)) return fallback;
    const parsed = parse(this.#value[name]);
    if (parsed === undefined) this.fieldPath.child(name).addProblem(`must be ${expectation}, is ${kindOf(this.#value[name])}`);
    return parsed ?? fallback;
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return { object: 'a map', string: 'a string', number: 'a number', boolean: 'true or false' }[typeof value as string] ?? typeof value;
}
