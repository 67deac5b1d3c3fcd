/**
 * JSON merge patch (RFC 7396), by which a drop-in changes the configuration: maps merge key by key, other values are replaced, and null
 * removes a key, so that its default applies again.
 */
import { isMap } from './field-codecs.ts';

/** Returns the patched target. Changes neither argument. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return patch;
  const merged = new Map(Object.entries(isMap(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}
