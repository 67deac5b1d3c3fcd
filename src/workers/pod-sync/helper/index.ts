/** The client of the helper process (src/helper), which makes the file system calls that may hang in the kernel. */
export { HelperClient } from './helper-client.ts';
