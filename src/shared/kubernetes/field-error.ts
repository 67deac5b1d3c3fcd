/**
 * Formats validation errors like the API (upstream apimachinery util/validation/field): `path: Type: value: detail`. Each error is one
 * line of text.
 */
import { goQuote } from './go-text.ts';

/** The shown length of an invalid value, which may have megabytes. */
const maxShownLength = 256;

export function required(path: string, detail = ''): string {
  return formatError(path, 'Required value', detail);
}
export function invalid(path: string, value: unknown, detail: string): string {
  return formatError(path, `Invalid value: ${show(value)}`, detail);
}
export function duplicate(path: string, value: unknown): string {
  return formatError(path, `Duplicate value: ${show(value)}`, '');
}
export function notFound(path: string, value: unknown): string {
  return formatError(path, `Not found: ${show(value)}`, '');
}
export function forbidden(path: string, detail: string): string {
  return formatError(path, 'Forbidden', detail);
}
export function notSupported(path: string, value: unknown, supported: Iterable<string>): string {
  const values = [...supported].sort().map(goQuote);
  return formatError(path, `Unsupported value: ${show(value)}`, values.length === 0 ? '' : `supported values: ${values.join(', ')}`);
}
export function tooLong(path: string, maxLength: number): string {
  return formatError(path, 'Too long', `may not be more than ${maxLength} ${maxLength === 1 ? 'byte' : 'bytes'}`);
}
export function tooMany(path: string, actual: number, max: number): string {
  return formatError(path, `Too many: ${actual}`, `must have at most ${max} ${max === 1 ? 'item' : 'items'}`);
}

/** The path of a map entry. */
export function keyPath(path: string, key: string): string {
  return `${path}[${key.length > maxShownLength ? `${key.slice(0, maxShownLength)}…` : key}]`;
}

function formatError(path: string, type: string, detail: string): string {
  const subject = path === '' ? type : `${path}: ${type}`;
  return detail === '' ? subject : `${subject}: ${detail}`;
}

function show(value: unknown): string {
  if (typeof value === 'string') return value.length > maxShownLength ? `${goQuote(value.slice(0, maxShownLength))}…` : goQuote(value);
  let shownValue: string;
  try {
    shownValue = JSON.stringify(value) ?? String(value);
  } catch {
    // A document may be circular.
    shownValue = Array.isArray(value) ? '[…]' : '{…}';
  }
  return shownValue.length > maxShownLength ? `${shownValue.slice(0, maxShownLength)}…` : shownValue;
}
