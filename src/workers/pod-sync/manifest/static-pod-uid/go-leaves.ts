/** Go types with their own JSON decoding. Their Go fields have no names in a manifest, so each type has a function here. */
import { toGoJSON } from '../../../../shared/kubernetes/go-text.ts';
import type { GoStruct } from './go-type.ts';

/** intstr.IntOrString. */
export function toIntOrString(given: unknown): GoStruct {
  if (typeof given === 'string') return { Type: 1, StrVal: given.toWellFormed() };
  return { IntVal: typeof given === 'number' ? given : 0 };
}

const utc: GoStruct = { name: 'UTC' };

/**
 * The value of time.Local on a node in UTC. Go dumps the node's whole time zone with each time. A manifest with a time (only manifests
 * exported from a cluster have one) therefore gets the Go kubelet's UID only on nodes in UTC.
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

/** Seconds from the year 1, the epoch of Go's time.Time, to 1970. */
const secondsBefore1970 = 62_135_596_800;

/** metav1.Time, parsed from RFC 3339. */
export function toTime(given: unknown): GoStruct {
  const [, seconds = '', fraction = '', zone = ''] =
    (typeof given === 'string' && /^(.{19})(?:\.(\d+))?(Z|[-+]\d\d:\d\d)$/.exec(given)) || [];
  const unixSeconds = Date.parse(`${seconds}${zone}`) / 1000;
  if (Number.isNaN(unixSeconds)) return {};
  // In Go's time.Time, `wall` has the nanoseconds and `ext` the seconds.
  return { Time: { wall: Number(fraction.slice(0, 9).padEnd(9, '0')), ext: unixSeconds + secondsBefore1970, loc: local } };
}

/** metav1.FieldsV1: the bytes of the JSON value. Equals Go's bytes for YAML manifests. The white space of a JSON manifest is lost. */
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
