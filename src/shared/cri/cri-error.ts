/**
 * The error of a failed CRI call, and the gRPC codes. Separate from the client, because most code that inspects failures makes no
 * calls.
 */

/** google.golang.org/grpc/codes */
export const grpcCode = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;
export type GrpcCode = (typeof grpcCode)[keyof typeof grpcCode];
const names = Object.keys(grpcCode);

/** The runtime rejected a call or did not reply before its deadline. `code` is the gRPC code. */
export class CriError extends Error {
  override readonly name = 'CriError';
  readonly call: string;
  readonly code: number;
  constructor(call: string, code: number, details: string) {
    super(`${call}: rpc error: code = ${codeName(code)} desc = ${details}`);
    this.call = call;
    this.code = code;
  }
}

/** Returns the code's name as Go prints it: `DeadlineExceeded`, not `DEADLINE_EXCEEDED`. */
export function codeName(code: number): string {
  const name = names[code];
  if (name === undefined) return `Code(${code})`;
  if (code === grpcCode.CANCELLED) return 'Canceled';
  return name === 'OK' ? name : name.toLowerCase().replace(/(^|_)([a-z])/g, (_, __, letter: string) => letter.toUpperCase());
}

export function isCriNotFound(err: unknown): boolean {
  return err instanceof CriError && err.code === grpcCode.NOT_FOUND;
}
export function isUnimplemented(err: unknown): boolean {
  return err instanceof CriError && err.code === grpcCode.UNIMPLEMENTED;
}
/** A message exceeds the size limit of the client or the server. */
export function isResourceExhausted(err: unknown): boolean {
  return err instanceof CriError && err.code === grpcCode.RESOURCE_EXHAUSTED;
}
/** No process serves the socket, or the connection broke. */
export function isUnavailable(err: unknown): boolean {
  return err instanceof CriError && err.code === grpcCode.UNAVAILABLE;
}
