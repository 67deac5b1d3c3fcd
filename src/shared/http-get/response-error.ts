/** What the server sent is no response. */
export class ResponseError extends Error {
  override readonly name = 'ResponseError';
  /** The headers were complete. */
  readonly inBody: boolean;
  constructor(message: string, inBody: boolean) {
    super(message);
    this.inBody = inBody;
  }
}
