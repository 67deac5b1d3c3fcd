/** What ends a request to the helper process, and reports that it advances. */
export interface HelperLimits {
  /** Of a long operation: since it last changed a file. */
  readonly deadlineMs?: number;
  /** Ends the wait. Cancels a long operation; the deadline still decides whether the process hangs. */
  readonly signal?: AbortSignal | undefined;
  /** Called about once a second while a long operation advances. */
  readonly onProgress?: ((files: number) => void) | undefined;
}
