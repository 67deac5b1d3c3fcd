/** How one part of a pod points at another object, or at a field of its own. Field names, types and which may be left out: the v1 API's. */
import { always, int32, pointer, quantity, struct, text } from './types.ts';

export const localObjectReference = struct({
  name: text,
});
export const keyToPath = struct({
  key: always(text),
  path: always(text),
  mode: pointer(int32),
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
