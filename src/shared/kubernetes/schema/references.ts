/** Schema of references from a pod to other objects or to its own fields, from the v1 API: field names, types and optionality. */
import { always, int32, int64, pointer, quantity, struct, text } from './types.ts';

export const localObjectReference = struct({
  name: text,
});
export const keyToPath = struct({
  key: always(text),
  path: always(text),
  mode: pointer(int32),
  user: pointer(int64),
});
export const objectFieldSelector = struct({
  apiVersion: text,
  fieldPath: always(text),
});
export const resourceFieldSelector = struct({
  containerName: text,
  resource: always(text),
  divisor: quantity,
});
