/**
 * Parses the text of a flag to a value, by flag type (upstream: spf13/pflag, component-base/cli/flag, pkg/util/flag). A repeated flag is
 * parsed each time: the first occurrence replaces the default, and further ones replace or extend the value, depending on the type.
 */
import { isIP } from 'node:net';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { canonicalQuantity } from '../../../shared/kubernetes/quantity.ts';
import { parseDuration } from '../../../shared/kubernetes/duration.ts';
import type { VModuleItem } from '../kubelet-configuration.ts';
import { parseReservedMemory } from './parse-reserved-memory.ts';
import { parseTaints } from './parse-taints.ts';
import { parseBool, parseInteger, parseUnsigned } from './parse-numbers.ts';

/** Throws for invalid text. `previous` is the value of earlier occurrences on the same command line. */
type Read = (text: string, previous: unknown) => unknown;

export interface FlagType {
  /** The type's name in --help. Empty for a flag without a value. */
  readonly helpName: string;
  /** The value of a flag that is given without one (pflag: NoOptDefVal). If undefined, the next argument is the value. */
  readonly noOptDefault?: string;
  readonly read: Read;
}

const types = {
  bool: { helpName: '', noOptDefault: 'true', read: parseBool },
  int32: { helpName: 'int32', read: (text) => parseInteger(text, 32) },
  int64: { helpName: 'int', read: (text) => parseInteger(text, 64) },
  text: { helpName: 'string', read: (text) => text },
  duration: { helpName: 'duration', read: parseDuration },
  quantity: { helpName: 'quantity', read: canonicalQuantity },
  ip: { helpName: 'ip', read: readIP },
  texts: { helpName: 'strings', read: (text, previous) => [...((previous as string[] | undefined) ?? []), ...splitCSV(text)] },
  map: { helpName: 'mapStringString', read: (text, previous) => addPairs(text, '=', previous) },
  mapEntry: { helpName: 'mapStringString', read: (text, previous) => addPair(text, '=', { ...(previous as object | undefined) }) },
  thresholds: { helpName: 'mapStringString', read: (text, previous) => addPairs(text, '<', previous) },
  labels: { helpName: 'mapStringString', read: addLabels },
  gates: { helpName: 'mapStringBool', read: addGates },
  headers: { helpName: 'multimap', read: addHeaders },
  taints: { helpName: 'taints', read: parseTaints },
  reservedMemory: { helpName: 'reserved-memory', read: parseReservedMemory },
  verbosity: { helpName: 'level', read: parseUnsigned },
  vmodule: { helpName: 'pattern=N,...', read: addVModule },
  version: { helpName: 'version', noOptDefault: 'true', read: readVersion },
} as const satisfies Record<string, FlagType>;

export type FlagTypeName = keyof typeof types;

export const flagTypes: Readonly<Record<FlagTypeName, FlagType>> = types;

/** Returns undefined for empty text, which keeps the default, as upstream. */
function readIP(text: string): string | undefined {
  if (text === '') return undefined;
  // As upstream, octets with leading zeros are decimal.
  if (isIP(text.replaceAll(/(^|\.)0+(?=[0-9])/g, '$1')) === 0) throw new Error(`${goQuote(text)} is not a valid IP address`);
  return text;
}

function parts(text: string): string[] {
  return text.split(',').filter((part) => part !== '');
}

function addPairs(text: string, separator: '=' | '<' | ':', previous: unknown): Record<string, string> {
  return parts(text).reduce((map, part) => addPair(part, separator, map), { ...(previous as Record<string, string> | undefined) });
}

function addPair(part: string, separator: '=' | '<' | ':', map: object): Record<string, string> {
  const [key, value] = splitPair(part, separator, 'string');
  return { ...map, [key]: value };
}

function splitPair(part: string, separator: string, valueName: string): [key: string, value: string] {
  const separatorIndex = part.indexOf(separator);
  if (separatorIndex < 0) throw new Error(`malformed pair, expect string${separator}${valueName}`);
  return [part.slice(0, separatorIndex).trim(), part.slice(separatorIndex + 1).trim()];
}

/** A label without `=` has an empty value. */
function addLabels(text: string, previous: unknown): Record<string, string> {
  const labels = parts(text).map((part) => (part.includes('=') ? splitPair(part, '=', 'string') : [part.trim(), '']));
  return { ...(previous as Record<string, string> | undefined), ...Object.fromEntries(labels) };
}

function addGates(text: string, previous: unknown): Record<string, boolean> {
  const gates = parts(text).map((part): [string, boolean] => {
    const [name, value] = splitPair(part, '=', 'bool');
    try {
      return [name, parseBool(value)];
    } catch (err) {
      throw new Error(`invalid value of ${name}: ${value}, err: ${(err as Error).message}`, { cause: err });
    }
  });
  return { ...(previous as Record<string, boolean> | undefined), ...Object.fromEntries(gates) };
}

function addHeaders(text: string, previous: unknown): Record<string, string[]> {
  const headers = new Map(Object.entries((previous as Record<string, string[]> | undefined) ?? {}));
  for (const part of parts(text)) {
    const [name, value] = splitPair(part, ':', 'string');
    headers.set(name, [...(headers.get(name) ?? []), value]);
  }
  return Object.fromEntries(headers);
}

function addVModule(text: string, previous: unknown): VModuleItem[] {
  const items = parts(text).map((part): VModuleItem => {
    const [filePattern, verbosity, ...more] = part.split('=');
    if (!filePattern || !verbosity || more.length > 0) throw new Error(`${goQuote(part)} does not have the pattern=N format`);
    return { filePattern, verbosity: parseUnsigned(verbosity) };
  });
  return [...((previous as VModuleItem[] | undefined) ?? []), ...items];
}

function readVersion(text: string): string {
  if (text === 'raw' || /^v[0-9]+\.[0-9]+\.[0-9]+/.test(text)) return text;
  if (text.startsWith('v')) throw new Error(`${goQuote(text)} is not a version`);
  return String(parseBool(text));
}

/** Splits one line of CSV. `"` quotes a value with a comma, and `""` inside a quoted value is a `"`. */
function splitCSV(text: string): string[] {
  if (text === '') return [];
  const values: string[] = [];
  const value = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/gy;
  for (let more = true; more;) {
    const match = value.exec(text);
    if (!match) throw new Error(`${goQuote(text)}: a quote stands where none may be`);
    const [, quoted, bare = '', comma] = match;
    values.push(quoted === undefined ? bare : quoted.replaceAll('""', '"'));
    more = comma === ',';
  }
  return values;
}
