/** Schema of a container's environment, from the v1 API: field names, types and optionality. */
import { always, bool, pointer, struct, text } from './types.ts';
import { localObjectReference, objectFieldSelector, resourceFieldSelector } from './references.ts';

const configMapEnvSource = struct({
  ...localObjectReference.fields,
  optional: pointer(bool),
});
const secretEnvSource = struct({
  ...localObjectReference.fields,
  optional: pointer(bool),
});
export const envFromSource = struct({
  prefix: text,
  configMapRef: pointer(configMapEnvSource),
  secretRef: pointer(secretEnvSource),
});
const configMapKeySelector = struct({
  ...localObjectReference.fields,
  key: always(text),
  optional: pointer(bool),
});
const secretKeySelector = struct({
  ...localObjectReference.fields,
  key: always(text),
  optional: pointer(bool),
});
const fileKeySelector = struct({
  volumeName: always(text),
  path: always(text),
  key: always(text),
  optional: pointer(bool),
});
const envVarSource = struct({
  fieldRef: pointer(objectFieldSelector),
  resourceFieldRef: pointer(resourceFieldSelector),
  configMapKeyRef: pointer(configMapKeySelector),
  secretKeyRef: pointer(secretKeySelector),
  fileKeyRef: pointer(fileKeySelector),
});
export const envVar = struct({
  name: always(text),
  value: text,
  valueFrom: pointer(envVarSource),
});
