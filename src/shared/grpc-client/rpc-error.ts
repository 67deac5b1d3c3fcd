/** The failure of a gRPC call to a plugin, worded as grpc-go does. */
import { cutMessage } from '../errors/cut-message.ts';
import { codeName, grpcCode } from '../cri/cri-error.ts';

/** In UTF-16 units. A driver may quote secrets or whole outputs of commands; the start of a text says what is wrong. */
const maxDetails = 1024;

export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly #details: string;
  constructor(code: number, details: string) {
    super(`rpc error: code = ${codeName(code)} desc = ${cutMessage(details, maxDetails)}`);
    this.code = code;
    this.#details = details;
  }

  /** Returns the error without these texts: a plugin may quote what it was given. */
  without(secrets: readonly string[]): RpcError {
    const longestFirst = secrets.filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length);
    return new RpcError(
      this.code,
      longestFirst.reduce((details, secret) => details.replaceAll(secret, '[secret]'), this.#details),
    );
  }
}

/** The codes after which an operation may still run in the driver (upstream isFinalError in pkg/volume/csi/csi_client.go). */
const unfinished: ReadonlySet<number> = new Set([
  grpcCode.CANCELLED,
  grpcCode.DEADLINE_EXCEEDED,
  grpcCode.UNAVAILABLE,
  grpcCode.RESOURCE_EXHAUSTED,
  grpcCode.ABORTED,
]);

/** Returns whether the failed operation is certain to have ended in the driver. */
export function isFinalError(err: unknown): boolean {
  return err instanceof RpcError && !unfinished.has(err.code);
}
