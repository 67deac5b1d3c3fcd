/**
 * How the text behind a flag becomes its value, by type (upstream: spf13/pflag, component-base/cli/flag, pkg/util/flag). A flag given
 * many times is read many times: the first replaces the default, the next ones replace it or add to it, as the type has it.
 */
import { isIP } from 'node:net';
import { goQuote } from '../../shared/kubernetes/go-text.ts';
import { canonicalQuantity } from '../../shared/kubernetes/quantity.ts';
import { parseDuration } from '../config/duration.ts';
import type { VModuleItem } from '../config/kubelet-configuration.ts';
import { parseReservedMemory, parseTaints } from './parse-reserved-memory.ts';
import { parseBool, parseInteger, parseUnsigned } from './parse-numbers.ts';

/** Throws with what is wrong. `before` is what the flag was given before on the same command line. */
type Read = (text: string, before: unknown) => unknown;

export interface FlagType {
  /** As help names it; empty: the flag stands alone. */
  readonly shown: string;
  /** The value of a flag that stands alone. Without it the next argument is the value. */
  readonly alone?: string;
  readonly read: Read;
}

const types = {
  bool: { shown: '', alone: 'true', read: parseBool },
  int32: { shown: 'int32', read: (text) => parseInteger(text, 32) },
  int64: { shown: 'int', read: (text) => parseInteger(text, 64) },
  text: { shown: 'string', read: (text) => text },
  duration: { shown: 'duration', read: parseDuration },
  quantity: { shown: 'quantity', read: canonicalQuantity },
  ip: { shown: 'ip', read: readIP },
  texts: { shown: 'strings', read: (text, before) => [...((before as string[] | undefined) ?? []), ...splitCSV(text)] },
  map: { shown: 'mapStringString', read: (text, before) => addPairs(text, '=', before) },
  mapEntry: { shown: 'mapStringString', read: (text, before) => addPair(text, '=', { ...(before as object | undefined) }) },
  thresholds: { shown: 'mapStringString', read: (text, before) => addPairs(text, '<', before) },
  labels: { shown: 'mapStringString', read: addLabels },
  gates: { shown: 'mapStringBool', read: addGates },
  headers: { shown: 'multimap', read: addHeaders },
  taints: { shown: 'taints', read: parseTaints },
  reservedMemory: { shown: 'reserved-memory', read: parseReservedMemory },
  verbosity: { shown: 'level', read: parseUnsigned },
  vmodule: { shown: 'pattern=N,...', read: addVModule },
  version: { shown: 'version', alone: 'true', read: readVersion },
} as const satisfies Record<string, FlagType>;

export type FlagTypeName = keyof typeof types;

export const flagTypes: Readonly<Record<FlagTypeName, FlagType>> = types;

/** Empty means that the default stays, as upstream has it: undefined. */
function readIP(text: string): string | undefined {
  if (text === '') return undefined;
  // Octets with leading zeros were always read as decimal here.
  if (isIP(text.replaceAll(/(^|\.)0+(?=[0-9])/g, '$1')) === 0) throw new Error(`${goQuote(text)} is not a valid IP address`);
  return text;
}

function parts(text: string): string[] {
  return text.split(',').filter((part) => part !== '');
}

function addPairs(text: string, separator: '=' | '<' | ':', before: unknown): Record<string, string> {
  return parts(text).reduce((map, part) => addPair(part, separator, map), { ...(before as Record<string, string> | undefined) });
}

function addPair(part: string, separator: '=' | '<' | ':', map: object): Record<string, string> {
  const [key, value] = splitPair(part, separator, 'string');
  return { ...map, [key]: value };
}

function splitPair(part: string, separator: string, what: string): [key: string, value: string] {
  const at = part.indexOf(separator);
  if (at < 0) throw new Error(`malformed pair, expect string${separator}${what}`);
  return [part.slice(0, at).trim(), part.slice(at + 1).trim()];
}

/** A label without a value is one with an empty value. */
function addLabels(text: string, before: unknown): Record<string, string> {
  const labels = parts(text).map((part) => (part.includes('=') ? splitPair(part, '=', 'string') : [part.trim(), '']));
  return { ...(before as Record<string, string> | undefined), ...Object.fromEntries(labels) };
}

function addGates(text: string, before: unknown): Record<string, boolean> {
  const gates = parts(text).map((part): [string, boolean] => {
    const [name, value] = splitPair(part, '=', 'bool');
    try {
      return [name, parseBool(value)];
    } catch (err) {
      throw new Error(`invalid value of ${name}: ${value}, err: ${(err as Error).message}`, { cause: err });
    }
  });
  return { ...(before as Record<string, boolean> | undefined), ...Object.fromEntries(gates) };
}

function addHeaders(text: string, before: unknown): Record<string, string[]> {
  const headers = new Map(Object.entries((before as Record<string, string[]> | undefined) ?? {}));
  for (const part of parts(text)) {
    const [name, value] = splitPair(part, ':', 'string');
    headers.set(name, [...(headers.get(name) ?? []), value]);
  }
  return Object.fromEntries(headers);
}

function addVModule(text: string, before: unknown): VModuleItem[] {
  const items = parts(text).map((part): VModuleItem => {
    const [filePattern, verbosity, ...more] = part.split('=');
    if (!filePattern || !verbosity || more.length > 0) throw new Error(`${goQuote(part)} does not have the pattern=N format`);
    return { filePattern, verbosity: parseUnsigned(verbosity) };
  });
  return [...((before as VModuleItem[] | undefined) ?? []), ...items];
}

function readVersion(text: string): string {
  if (text === 'raw' || /^v[0-9]+\.[0-9]+\.[0-9]+/.test(text)) return text;
  if (text.startsWith('v')) throw new Error(`${goQuote(text)} is not a version`);
  return String(parseBool(text));
}

/** One line of comma-separated values; `"` quotes a value that has a comma in it, `""` within it is a `"`. */
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
