/** The Go values that read themselves from JSON: neither their type nor their names show what a manifest says. */
import { toGoJSON } from '../../kubernetes/go-text.ts';
import type { GoStruct } from './go-type.ts';

/** intstr.IntOrString. */
export function toIntOrString(given: unknown): GoStruct {
  if (typeof given === 'string') return { Type: 1, StrVal: given.toWellFormed() };
  return { IntVal: typeof given === 'number' ? given : 0 };
}

const utc: GoStruct = { name: 'UTC' };

/**
 * time.Local where the clock shows UTC. Go prints a node's whole time zone with each time, so that a time in a manifest (which only one
 * exported from a cluster has) is printed as the Go kubelet does only on nodes that run in UTC.
 */
const local: GoStruct = {
  name: 'Local',
  zone: [utc],
  tx: [{ when: -(1n << 63n) }],
  extend: 'UTC0',
  cacheStart: -(1n << 63n),
  cacheEnd: (1n << 63n) - 1n,
  cacheZone: utc,
};

/** From the year 1, where Go's clock starts, to 1970. */
const secondsBefore1970 = 62_135_596_800;

/** metav1.Time, from RFC 3339. */
export function toTime(given: unknown): GoStruct {
  const [, seconds = '', fraction = '', zone = ''] =
    (typeof given === 'string' && /^(.{19})(?:\.(\d+))?(Z|[-+]\d\d:\d\d)$/.exec(given)) || [];
  const unixSeconds = Date.parse(`${seconds}${zone}`) / 1000;
  if (Number.isNaN(unixSeconds)) return {};
  return { Time: { wall: Number(fraction.slice(0, 9).padEnd(9, '0')), ext: unixSeconds + secondsBefore1970, loc: local } };
}

/** metav1.FieldsV1: JSON that is kept as its bytes. As a YAML manifest's come out; a JSON manifest's own white space is not known here. */
export function toFields(given: unknown): GoStruct {
  return given === null || given === undefined ? {} : { Raw: [...Buffer.from(toGoJSON(sorted(given)))] };
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, element]) => [key, sorted(element)]),
  );
}
