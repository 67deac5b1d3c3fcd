/**
 * Each run of pages of a process in a guest is a mapping of a process of the host, so a large one has more mappings than Linux allows by default: 65,530.
 * Beyond that it loops for ever over the same page fault. An API server with 400 MB does.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const limitPath = '/proc/sys/vm/max_map_count';
/** The default of several distributions. */
const neededMappings = 1_048_576;

/** Raises the host's limit of mappings of a process. Does nothing when it is high enough, or may not be changed: most guests need less. */
export function raiseMappingLimit(): void {
  if (Number(readFileSync(limitPath, 'utf8')) >= neededMappings) return;
  try {
    writeFileSync(limitPath, String(neededMappings));
  } catch (err) {
    console.error(`${limitPath} can't be raised to ${neededMappings}, a guest with a large process may hang: ${(err as Error).message}`);
  }
}
