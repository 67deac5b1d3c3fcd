/**
 * JSON merge patch (RFC 7396), which is how a drop-in changes what stands before it: maps merge key by key, anything else is
 * replaced, null takes a key away (so that its default holds again).
 */
import { isMap } from './field-codecs.ts';

/** The target with the patch applied; neither is changed. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return patch;
  const merged = new Map(Object.entries(isMap(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}
