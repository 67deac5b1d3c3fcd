/** The zero values of the schema types, which null elements and absent required fields get. */
import type { Schema } from './types.ts';

/** Returns Go's zero value for the type. Undefined for times: the zero time has no JSON form. */
export function zeroOf(schema: Schema): unknown {
  switch (schema.kind) {
    case 'text':
      return '';
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
    case 'intOrString':
      return 0;
    case 'quantity':
      return '0';
    case 'time':
      return undefined;
    case 'list':
      return [];
    case 'map':
    case 'struct':
      return {};
    case 'pointer':
    case 'always':
      return zeroOf(schema.element);
    default:
      return schema satisfies never;
  }
}
