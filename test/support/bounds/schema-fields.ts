/** Lists the fields of the API's schemas whose values have no fixed length: strings, quantities, lists and maps. Pure. */
import type { Schema } from '../../../src/shared/kubernetes/schema/types.ts';

export interface SizedField {
  /** Names, with `[]` for the elements of a list and `{}` for the values of a map. */
  readonly path: readonly string[];
  readonly kind: 'text' | 'quantity' | 'intOrString' | 'list' | 'map';
  /** Of a list or map: what its elements or values are. */
  readonly element?: Schema['kind'];
}

/** Returns each such field once, from the outside to the inside. The schemas are finite trees. */
export function sizedFields(schema: Schema, path: readonly string[] = []): readonly SizedField[] {
  switch (schema.kind) {
    case 'text':
    case 'quantity':
    case 'intOrString':
      return [{ path, kind: schema.kind }];
    case 'list':
    case 'map':
      return [
        { path, kind: schema.kind, element: kindOf(schema.element) },
        ...sizedFields(schema.element, [...path, schema.kind === 'list' ? '[]' : '{}']),
      ];
    case 'pointer':
    case 'always':
      return sizedFields(schema.element, path);
    case 'struct':
      return Object.entries(schema.fields).flatMap(([name, field]) => sizedFields(field, [...path, name]));
    case 'bool':
    case 'int32':
    case 'int64':
    case 'time':
      return [];
    default:
      return schema satisfies never;
  }
}

function kindOf(schema: Schema): Schema['kind'] {
  return schema.kind === 'pointer' || schema.kind === 'always' ? kindOf(schema.element) : schema.kind;
}
