/** A failed call to the runtime, and gRPC's codes: apart from the client, since most that judge a failure make no calls. */

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

/** A call that the runtime refused, or did not answer in time. `code` is gRPC's. */
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

/** gRPC code names as Go prints them: `DeadlineExceeded`, not `DEADLINE_EXCEEDED`. */
function codeName(code: number): string {
  const name = names[code] ?? 'UNKNOWN';
  return name === 'OK' ? name : name.toLowerCase().replace(/(^|_)([a-z])/g, (_, __, letter: string) => letter.toUpperCase());
}

export function isNotFound(err: unknown): boolean {
  return err instanceof CriError && err.code === grpcCode.NOT_FOUND;
}
export function isUnimplemented(err: unknown): boolean {
  return err instanceof CriError && err.code === grpcCode.UNIMPLEMENTED;
}
/** A reply over the message limit, from either side. */
export function isResourceExhausted(err: unknown): boolean {
  return err instanceof CriError && err.code === grpcCode.RESOURCE_EXHAUSTED;
}
/** Nobody serves the socket, or the connection broke. */
export function isUnavailable(err: unknown): boolean {
  return err instanceof CriError && err.code === grpcCode.UNAVAILABLE;
}
