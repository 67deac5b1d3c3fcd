/** The client of the helper process (src/helper), which makes the file system calls that may hang in the kernel. Created by each thread of the
 * sync pool for volumes, subPaths and removals, and by the stats thread for measurements. */
export { HelperClient } from './helper-client.ts';
export { changeOwnership, type SlowWalkWatch } from './change-ownership.ts';
