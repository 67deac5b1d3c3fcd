/**
 * Parses and validates a query for the host's logs by service (`/logs/?query=containerd`), with upstream's rules and error messages
 * (pkg/kubelet/kubelet_server_journal.go). Pure; whether a file exists is checked elsewhere.
 */
import { goQuote } from '../../../shared/kubernetes/go-text.ts';

export interface LogQuery {
  readonly services: readonly string[];
  /** Names with a slash or backslash. */
  readonly files: readonly string[];
  readonly sinceMs?: number;
  readonly untilMs?: number;
  readonly tailLines?: number;
  /** 0: the current boot; negative: an earlier one. */
  readonly boot?: number;
  readonly pattern?: string;
}

const maxTailLines = 100_000;
const maxServices = 4;
const maxServiceLength = 256;
/** RFC 3339, as Go parses it. */
const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** Returns null when the request is for a file and is not a query, and an array of error messages for an invalid query. */
export function parseLogQuery(query: URLSearchParams): LogQuery | string[] | null {
  const faults: string[] = [];
  const requested = query.getAll('query');
  const files = requested.filter((name) => /[/\\]/.test(name));
  const services = requested.filter((name) => !/[/\\]/.test(name) && name.trim() !== '');
  if (requested.length > 0 && files.length + services.length === 0)
    faults.push(`query: Invalid value: ${goStrings(requested)}: may not be empty`);
  const value = <T>(name: string, read: (text: string) => T): T | undefined => {
    const text = query.get(name) ?? '';
    try {
      return text === '' ? undefined : read(text);
    } catch (err) {
      faults.push(`${name}: Invalid value: ${goQuote(text)}: ${(err as Error).message}`);
      return undefined;
    }
  };
  const values = {
    sinceMs: value('sinceTime', readTime),
    untilMs: value('untilTime', readTime),
    boot: value('boot', readInteger),
    tailLines: value('tailLines', readInteger),
    pattern: value('pattern', (text) => text),
  };
  if (faults.length > 0) return faults;
  const givenValues = Object.fromEntries(Object.entries(values).filter(([, each]) => each !== undefined));
  return requested.length === 0 && Object.keys(givenValues).length === 0 ? null : { services, files, ...givenValues };
}

/** Returns error messages for an invalid query. Does not check whether the file exists. */
export function validateLogQuery(query: LogQuery): string[] {
  const { services, files, sinceMs, untilMs, boot, tailLines, pattern } = query;
  const faults = services.flatMap((name) => {
    const fault = serviceFault(name);
    return fault === '' ? [] : [`query: Invalid value: ${goQuote(name)}: ${fault}`];
  });
  if (services.length > maxServices) faults.push(`query: Too many: ${services.length}: must have at most ${maxServices} items`);
  const hasOptions = [sinceMs, untilMs, boot, tailLines, pattern].some((option) => option !== undefined);
  if (files.length === 0 && services.length === 0) faults.push('query: Required value: cannot be empty with options');
  else if (files.length > 0 && services.length > 0)
    faults.push(`query: Invalid value: ${goQuote(`[${files.join(' ')}], [${services.join(' ')}]`)}: cannot specify a file and service`);
  else if (files.length > 1) faults.push(`query: Invalid value: ${goStrings(files)}: cannot specify more than one file`);
  else if (files.length === 1 && hasOptions) faults.push(`query: Invalid value: ${goStrings(files)}: cannot specify file with options`);
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs > untilMs)
    faults.push(`untilTime: Invalid value: ${goQuote(new Date(untilMs).toISOString())}: must be after \`sinceTime\``);
  if (boot !== undefined && boot > 0) faults.push(`boot: Invalid value: ${boot}: must be less than 1`);
  if (tailLines !== undefined && (tailLines < 0 || tailLines > maxTailLines))
    faults.push(`tailLines: Invalid value: ${tailLines}: must be between 0 and ${maxTailLines}, inclusive`);
  if (pattern !== undefined && patternFault(pattern) !== '')
    faults.push(`pattern: Invalid value: ${goQuote(pattern)}: ${patternFault(pattern)}`);
  return faults;
}

/** Returns the arguments for journalctl. The service names were validated: none can be parsed as an option. */
export function journalArguments({ services, sinceMs, untilMs, tailLines, pattern, boot }: LogQuery): string[] {
  return [
    '--utc',
    '--no-pager',
    '--output=short-precise',
    ...(sinceMs === undefined ? [] : [`--since=${journalTime(sinceMs)}`]),
    ...(untilMs === undefined ? [] : [`--until=${journalTime(untilMs)}`]),
    ...(tailLines === undefined ? [] : ['--pager-end', `--lines=${tailLines}`]),
    ...services.map((service) => `--unit=${service}`),
    ...(pattern === undefined ? [] : [`--grep=${pattern}`]),
    ...(boot === undefined ? [] : ['--boot', String(boot)]),
  ];
}

/** Possible log files of a service that does not log to the journal. */
export function logFilesOf(service: string): string[] {
  return [service, `${service}.log`, `${service}/${service}.log`];
}

/** Formats errors as Go's utilerrors.Aggregate. */
export function aggregate(faults: readonly string[]): string {
  const unique = [...new Set(faults)];
  return unique.length === 1 ? unique[0]! : `[${unique.join(', ')}]`;
}

function serviceFault(name: string): string {
  if (name.length > maxServiceLength) return `length must be less than ${maxServiceLength}`;
  // The name `..` would lead out of the log folder.
  return /^[a-zA-Z\-_.:0-9@]+$/.test(name) && !/^\.+$/.test(name) ? '' : 'input contains unsupported characters';
}

/** journalctl compiles the pattern as PCRE. Only clearly invalid patterns are refused here; inline options, which JavaScript lacks, are removed. */
function patternFault(pattern: string): string {
  if (pattern.includes('\0')) return 'it has a NUL';
  try {
    ''.search(pattern.replaceAll(/\(\?[imsxU-]+\)/g, '').replaceAll('(?P<', '(?<'));
    return '';
  } catch (err) {
    return `error parsing regexp: ${(err as Error).message}`;
  }
}

function readTime(text: string): number {
  const ms = rfc3339.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(ms)) throw new Error('invalid time format');
  return ms;
}

function readInteger(text: string): number {
  if (!/^[+-]?\d{1,15}$/.test(text)) throw new Error(`strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`);
  return Number(text);
}

function goStrings(texts: readonly string[]): string {
  return `[]string{${texts.map((text) => goQuote(text)).join(', ')}}`;
}

/** Formats a time in seconds, with the zone, because `--utc` only affects journalctl's output. */
function journalTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
