/** Returns whether this process runs in the initial user namespace. Never throws. */
import { readFileSync } from 'node:fs';

export function isInitialUserNamespace(): boolean {
  try {
    return mapsAllIDs(readFileSync('/proc/self/uid_map', 'utf8'));
  } catch {
    // A kernel without user namespaces has no such file.
    return true;
  }
}

/** @param map of /proc/self/uid_map: in the initial namespace one line for all IDs */
export function mapsAllIDs(map: string): boolean {
  return /^\s*0\s+0\s+4294967295\s*$/.test(map);
}
