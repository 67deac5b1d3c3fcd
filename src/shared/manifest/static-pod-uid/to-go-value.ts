/**
 * A part of a manifest as the Go value that upstream decodes it to. Two views of it are read together: the document, which knows how things
 * were written (a nil slice or an empty one, the digits of a quantity), and the pod after its defaults.
 */
import { goType, type GoField, type GoStruct, type GoValue } from './go-type.ts';
import { toFields, toIntOrString, toTime } from './go-leaves.ts';
import { roundUpToMillis, toGoStruct } from './go-quantity.ts';
import { readQuantity, readResourceList } from './resource-list.ts';

/** `given` is the document's part, of whatever type; `defaulted` is the pod's, undefined where it is zero or not read by this kubelet. */
export function toGoValue(name: string, given: unknown, defaulted: unknown): GoValue {
  switch (name) {
    case 'resource.Quantity':
      return toGoStruct(readQuantity(given));
    // Each of them is made this coarse by the API's defaults.
    case 'core.ResourceList':
      return mapValues(readResourceList(given), (quantity) => toGoStruct(roundUpToMillis(quantity)));
    case 'intstr.IntOrString':
      return toIntOrString(defaulted ?? given);
    case 'v1.Time':
      return toTime(given);
    case 'v1.FieldsV1':
      return toFields(given);
    default:
  }
  const type = goType(name);
  const value = defaulted ?? given ?? undefined;
  switch (type.kind) {
    case 'string':
      return typeof value === 'string' ? value.toWellFormed() : '';
    case 'bool':
      return value === true;
    case 'number':
      return typeof value === 'number' ? value : 0;
    case 'pointer':
      return value === undefined ? null : toGoValue(type.of, given, defaulted);
    // Defaults fill in elements; whether there is a list, and how long it is, the document knows.
    case 'slice':
      return Array.isArray(given) ? given.map((element, index) => toGoValue(type.of, element, elementOf(defaulted, index))) : null;
    case 'map':
      return typeof given === 'object' && given !== null ? toGoMap(type.of, given, defaulted) : null;
    case 'struct':
      return toStruct(type.fields, given, defaulted);
    default:
      return type satisfies never;
  }
}

function mapValues<From, To>(map: ReadonlyMap<string, From> | null, convert: (value: From) => To): Map<string, To> | null {
  return map && new Map(Array.from(map, ([key, value]) => [key, convert(value)]));
}

function toGoMap(of: string, given: object, defaulted: unknown): Map<string, GoValue> {
  const entries = Object.entries(given);
  return new Map(entries.map(([key, element]) => [key.toWellFormed(), toGoValue(of, element, fieldOf(defaulted, key))]));
}

function toStruct(fields: readonly GoField[], given: unknown, defaulted: unknown): GoStruct {
  const struct: GoStruct = {};
  for (const [name, type, json] of fields) {
    if (json === undefined) continue;
    if (json === '...') {
      struct[name] = toGoValue(type, given, defaulted);
      continue;
    }
    const [own, after] = [fieldOf(given, json), fieldOf(defaulted, json)];
    // The dump takes what is left out for zero.
    if (own !== undefined || after !== undefined) struct[name] = toGoValue(type, own, after);
  }
  return struct;
}

function elementOf(list: unknown, index: number): unknown {
  return Array.isArray(list) ? (list[index] as unknown) : undefined;
}

/** Own fields only: no manifest has what every object inherits. */
function fieldOf(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null && Object.hasOwn(object, name)
    ? (object as Record<string, unknown>)[name]
    : undefined;
}
