/** A task of the sync pool for the host's packet filter: main decides which commands run (main/network-chains/). */

export type IPFamily = 'IPv4' | 'IPv6';

export interface RunIPTablesTask {
  readonly family: IPFamily;
  readonly args: readonly string[];
}

export type RunIPTablesResult =
  /** The exit code is 0 on success, 1 when the operation failed, 4 when the host was too busy. */
  | { readonly result: 'exited'; readonly code: number; readonly output: string }
  /** The command does not exist. */
  | { readonly result: 'not found' }
  /** The command could not be started, or did not end in time. */
  | { readonly result: 'failed'; readonly message: string };
