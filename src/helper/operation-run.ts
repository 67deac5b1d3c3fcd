/** What a long operation uses beside its request. */
export interface OperationRun {
  /** Aborted when nobody needs the operation any more. */
  readonly signal: AbortSignal;
  readonly reportFiles: (files: number) => void;
}
