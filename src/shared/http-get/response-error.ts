/** Thrown when the bytes that the server sent are not a valid response. */
export class ResponseError extends Error {
  override readonly name = 'ResponseError';
  /** The headers were complete: the fault is in the body. */
  readonly inBody: boolean;
  constructor(message: string, inBody: boolean) {
    super(message);
    this.inBody = inBody;
  }
}
