/**
 * A query for the host's logs by service (`/logs/?query=containerd`), read and checked with upstream's rules and words
 * (pkg/kubelet/kubelet_server_journal.go). Pure, but for whether a file is there.
 */
import { goQuote } from '../../../shared/kubernetes/go-text.ts';

export interface LogQuery {
  readonly services: readonly string[];
  /** With a slash or backslash in them. */
  readonly files: readonly string[];
  readonly sinceMs?: number;
  readonly untilMs?: number;
  readonly tailLines?: number;
  /** 0: this boot; below: one before. */
  readonly boot?: number;
  readonly pattern?: string;
}

const maxTailLines = 100_000;
const maxServices = 4;
const maxServiceLength = 256;
/** RFC 3339, as Go reads it. */
const timeForm = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** Null: no query, but a plain request for a file. Strings: what can't be read. */
export function parseLogQuery(query: URLSearchParams): LogQuery | string[] | null {
  const faults: string[] = [];
  const asked = query.getAll('query');
  const files = asked.filter((name) => /[/\\]/.test(name));
  const services = asked.filter((name) => !/[/\\]/.test(name) && name.trim() !== '');
  if (asked.length > 0 && files.length + services.length === 0) faults.push(`query: Invalid value: ${goStrings(asked)}: may not be empty`);
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
  const given = Object.fromEntries(Object.entries(values).filter(([, each]) => each !== undefined));
  return asked.length === 0 && Object.keys(given).length === 0 ? null : { services, files, ...given };
}

/** What is wrong with a query that could be read; empty: nothing. Whether its file is there is not looked at. */
export function logQueryFaults(query: LogQuery): string[] {
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

/** The arguments of journalctl. Names were checked: none can be taken for an option. */
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

/** Where a service that does not log to the journal may have its file. */
export function logFilesOf(service: string): string[] {
  return [service, `${service}.log`, `${service}/${service}.log`];
}

/** As Go's aggregate of errors. */
export function aggregate(faults: readonly string[]): string {
  const unique = [...new Set(faults)];
  return unique.length === 1 ? unique[0]! : `[${unique.join(', ')}]`;
}

function serviceFault(name: string): string {
  if (name.length > maxServiceLength) return `length must be less than ${maxServiceLength}`;
  // A name that is `..` would lead out of the folder of logs.
  return /^[a-zA-Z\-_.:0-9@]+$/.test(name) && !/^\.+$/.test(name) ? '' : 'input contains unsupported characters';
}

/** Read by journalctl, as PCRE; here only what is plainly broken is refused. Options inside of it are unknown to JavaScript. */
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
  const ms = timeForm.test(text) ? Date.parse(text) : NaN;
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

/** To the second, and with its zone: `--utc` is about what journalctl prints. */
function journalTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
