/** The client of the helper process (src/helper), which makes the file system calls that may hang in the kernel. Volumes, subPaths and removals call it. */
export { HelperClient } from './helper-client.ts';
