/**
 * Converts a part of a manifest to the Go value that upstream decodes. The conversion combines two views: the document, which has the
 * original form (a nil or an empty slice, the digits of a quantity), and the pod with defaults.
 */
import type { GoField, GoStruct, GoValue } from './go-type.ts';
import { goType } from './lookup-go-type.ts';
import { toFields, toIntOrString, toTime } from './go-leaves.ts';
import { roundUpToMillis, toGoStruct } from './go-quantity.ts';
import { readQuantity, readResourceList } from './resource-list.ts';

/**
 * `decoded` is the document's part, with any type. `defaulted` is the pod's part, undefined when it is zero or when this kubelet does not
 * read it.
 */
export function toGoValue(name: string, decoded: unknown, defaulted: unknown): GoValue {
  switch (name) {
    case 'resource.Quantity':
      return toGoStruct(readQuantity(decoded));
    // The API's defaults round every quantity of a list.
    case 'core.ResourceList':
      return mapValues(readResourceList(decoded), (quantity) => toGoStruct(roundUpToMillis(quantity)));
    case 'intstr.IntOrString':
      return toIntOrString(defaulted ?? decoded);
    case 'v1.Time':
      return toTime(decoded);
    case 'v1.FieldsV1':
      return toFields(decoded);
    default:
  }
  const type = goType(name);
  const value = defaulted ?? decoded ?? undefined;
  switch (type.kind) {
    case 'string':
      return typeof value === 'string' ? value.toWellFormed() : '';
    case 'bool':
      return value === true;
    case 'number':
      return typeof value === 'number' ? value : 0;
    case 'pointer':
      return value === undefined ? null : toGoValue(type.of, decoded, defaulted);
    // Defaults complete elements. Only the document shows whether a list exists and how long it is.
    case 'slice':
      return Array.isArray(decoded) ? decoded.map((element, index) => toGoValue(type.of, element, elementOf(defaulted, index))) : null;
    case 'map':
      return typeof decoded === 'object' && decoded !== null ? toGoMap(type.of, decoded, defaulted) : null;
    case 'struct':
      return toStruct(type.fields, decoded, defaulted);
    default:
      return type satisfies never;
  }
}

function mapValues<From, To>(map: ReadonlyMap<string, From> | null, convert: (value: From) => To): Map<string, To> | null {
  return map && new Map(Array.from(map, ([key, value]) => [key, convert(value)]));
}

function toGoMap(of: string, decoded: object, defaulted: unknown): Map<string, GoValue> {
  const entries = Object.entries(decoded);
  return new Map(entries.map(([key, element]) => [key.toWellFormed(), toGoValue(of, element, fieldOf(defaulted, key))]));
}

function toStruct(fields: readonly GoField[], decoded: unknown, defaulted: unknown): GoStruct {
  const struct: GoStruct = {};
  for (const [name, type, json] of fields) {
    if (json === undefined) continue;
    if (json === '...') {
      struct[name] = toGoValue(type, decoded, defaulted);
      continue;
    }
    const [decodedField, defaultedField] = [fieldOf(decoded, json), fieldOf(defaulted, json)];
    // The dump prints absent fields as zero.
    if (decodedField !== undefined || defaultedField !== undefined) struct[name] = toGoValue(type, decodedField, defaultedField);
  }
  return struct;
}

function elementOf(list: unknown, index: number): unknown {
  return Array.isArray(list) ? (list[index] as unknown) : undefined;
}

/** Reads own properties only. Inherited names are not part of a manifest. */
function fieldOf(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null && Object.hasOwn(object, name)
    ? (object as Record<string, unknown>)[name]
    : undefined;
}
