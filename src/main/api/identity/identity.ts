/** The kubelet's current credentials for the API server: the Authorization header of a call and the client certificate of a connection. */

export interface Identity {
  /** The value of the Authorization header. */
  readonly authorization: string | undefined;
  /** The same object while the certificate is unchanged. Connections are keyed by this object. */
  readonly clientCertificate: ClientCertificate | undefined;
}

/** PEM encoded. */
export interface ClientCertificate {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

export interface IdentitySource {
  /** Rejects when there are no credentials (a failed plugin, a missing file). */
  current(signal: AbortSignal): Promise<Identity>;
  /**
   * Called when the server responded with 401 to a call sent at `sentAtMs` (monotonic). Resolves with a new identity, or with the same
   * object when there is no other.
   */
  refreshAfterUnauthorized(sentAtMs: number, signal: AbortSignal): Promise<Identity>;
}
