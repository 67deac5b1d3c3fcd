/** Parses the files of cgroups v1 and v2. Pure. A kernel or a sandboxed runtime may write anything: what cannot be parsed is 0 or left out. */
import type { DeviceIo, InterfaceUsage } from '../../shared/state/usage-table.ts';

/** Returns the value of a line `key value`, or 0. Searches the text instead of splitting it: memory.stat has forty lines. */
export function statValue(text: string, key: string): number {
  const lineStart = text.startsWith(`${key} `) ? 0 : text.indexOf(`\n${key} `) + 1;
  if (lineStart === 0 && !text.startsWith(`${key} `)) return 0;
  // A 64-bit number has at most 20 digits.
  return Number.parseInt(text.slice(lineStart + key.length + 1, lineStart + key.length + 24), 10) || 0;
}

export function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

/** Parses a file with one number. 0 without a file. */
export function toNumber(text: string | undefined): number {
  return text === undefined ? 0 : Number.parseInt(text, 10) || 0;
}

const maxCounter = 2n ** 63n - 1n;

/**
 * Parses a file with one counter of nanoseconds, which exceeds 2^53 soon: a node of 96 cores reaches 10^18 within four months. Returns at most what the table
 * can hold.
 */
export function toBigInt(text: string): bigint {
  const digits = text.trim();
  const value = /^\d{1,20}$/.test(digits) ? BigInt(digits) : 0n;
  return value < maxCounter ? value : maxCounter;
}

/** A higher limit of cgroup v1 means no limit (upstream: maxMemorySize). */
const maxMemoryBytes = 2 ** 62;

/** Parses a file with a limit. Infinity for `max`, and for v1's highest number. 0 without a file. */
export function toLimit(text: string | undefined): number {
  if (text?.startsWith('max')) return Infinity;
  const limit = toNumber(text);
  return limit > maxMemoryBytes ? Infinity : limit;
}

/** How long tasks have waited for a resource: in total, and in percent of the last 10, 60 and 300 s (Documentation/accounting/psi.rst of the kernel). */
export interface Pressure {
  readonly totalUs: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}
const noPressure: Pressure = { totalUs: 0, avg10: 0, avg60: 0, avg300: 0 };

/** Parses the lines `some avg10=0.00 avg60=0.00 avg300=0.00 total=0` and `full …` of a pressure file. Zeros without a file, as upstream shows them. */
export function parsePressure(text: string | undefined): { readonly some: Pressure; readonly full: Pressure } {
  return { some: pressureLine(text, 'some'), full: pressureLine(text, 'full') };
}

function pressureLine(text: string | undefined, name: 'some' | 'full'): Pressure {
  const start = text?.startsWith(`${name} `) ? 0 : (text?.indexOf(`\n${name} `) ?? -1);
  if (text === undefined || start < 0) return noPressure;
  const end = text.indexOf('\n', start + 1);
  const line = text.slice(start, end < 0 ? undefined : end);
  const value = (key: string) => Number.parseFloat(line.slice(line.indexOf(`${key}=`) + key.length + 1)) || 0;
  return { totalUs: value('total'), avg10: value('avg10'), avg60: value('avg60'), avg300: value('avg300') };
}

/** Parses the lines `8:0 rbytes=1 wbytes=2 rios=3 wios=4 …` of v2's io.stat. The result has v1's names, as upstream's. */
export function parseIoStat(text: string | undefined): DeviceIo[] {
  const devices: DeviceIo[] = [];
  for (const [, device = '', rest = ''] of (text ?? '').matchAll(/^(\d+:\d+) (.+)$/gm)) {
    const value = (key: string) => Number(new RegExp(`(?:^| )${key}=(\\d+)`).exec(rest)?.[1]);
    const found = { rbytes: value('rbytes'), wbytes: value('wbytes'), rios: value('rios'), wios: value('wios') };
    if (Object.values(found).some(Number.isNaN)) continue;
    const costs = (['usage', 'wait', 'indebt', 'indelay'] as const).flatMap((name) => {
      const us = rest.includes(`cost.${name}=`) ? value(`cost.${name}`) : NaN;
      return Number.isNaN(us) ? [] : [[name, us] as const];
    });
    devices.push({
      device,
      bytes: { Read: found.rbytes, Write: found.wbytes },
      operations: { Read: found.rios, Write: found.wios },
      ...(costs.length > 0 && { costUs: Object.fromEntries(costs) }),
    });
  }
  return devices;
}

/** Parses the lines `8:0 Read 4096` of two blkio files of v1, with the bytes and the operations. The last line, `Total`, has no device. */
export function parseBlkio(bytes: string | undefined, operations: string | undefined): DeviceIo[] {
  const devices = new Map<string, { bytes: Record<string, number>; operations: Record<string, number> }>();
  const collect = (text: string | undefined, field: 'bytes' | 'operations') => {
    for (const [, device = '', operation = '', value] of (text ?? '').matchAll(/^(\d+:\d+) (\w+) (\d+)$/gm)) {
      let entry = devices.get(device);
      if (!entry) devices.set(device, (entry = { bytes: {}, operations: {} }));
      entry[field][operation] = Number(value);
    }
  };
  collect(bytes, 'bytes');
  collect(operations, 'operations');
  return Array.from(devices, ([device, entry]) => ({ device, ...entry }));
}

/** Interfaces that are not counted (cadvisor: ignoredDevicePrefixes). */
const ignoredInterfaces = /^(?:lo|veth|docker|nerdctl)/i;

/** Parses `/proc/<pid>/net/dev`, which begins with two lines of headings. Returns nothing when any line has another form, as upstream. */
export function parseNetDev(text: string): InterfaceUsage[] {
  const interfaces: InterfaceUsage[] = [];
  for (const line of text.split('\n').slice(2)) {
    if (line.trim() === '') continue;
    const separator = line.lastIndexOf(':');
    const numbers = line
      .slice(separator + 1)
      .trim()
      .split(/\s+/)
      .map(Number);
    if (separator < 0 || numbers.length !== 16 || numbers.some((value) => !(value >= 0))) return [];
    const name = line.slice(0, separator).trim();
    if (ignoredInterfaces.test(name)) continue;
    const [rxBytes = 0, rxPackets = 0, rxErrors = 0, rxDropped = 0, , , , , txBytes = 0, txPackets = 0, txErrors = 0, txDropped = 0] =
      numbers;
    interfaces.push({ name, rxBytes, rxPackets, rxErrors, rxDropped, txBytes, txPackets, txErrors, txDropped });
  }
  return interfaces;
}

/** Returns the JSON of as many entries as fit. A tenant can add any number of devices and interfaces. */
export function toBoundedJSON(entries: readonly unknown[], maxBytes: number): string {
  let json = '[';
  for (const entry of entries) {
    const next = `${json === '[' ? '' : ','}${JSON.stringify(entry)}`;
    if (Buffer.byteLength(json) + Buffer.byteLength(next) + 1 > maxBytes) break;
    json += next;
  }
  return `${json}]`;
}
