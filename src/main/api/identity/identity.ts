/** Who we are to the API server, at this moment: what a call says in its header and what a connection shows in its handshake. */

export interface Identity {
  /** The Authorization header. */
  readonly authorization: string | undefined;
  /** The same object for as long as it is the same certificate: connections belong to it. */
  readonly clientCertificate: ClientCertificate | undefined;
}

/** In PEM. */
export interface ClientCertificate {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

export interface IdentitySource {
  /** Rejects when there is none to be had (a plugin that fails, a file that is not there). */
  current(signal: AbortSignal): Promise<Identity>;
  /** The server answered 401 to a call that began at `sentAt` (monotonic ms). Resolves with another identity, or with the same object when there is none. */
  refreshAfterUnauthorized(sentAt: number, signal: AbortSignal): Promise<Identity>;
}
