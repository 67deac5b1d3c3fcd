/** gRPC's status codes, and the error with which a handler ends a call. */
export const statusCode = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

export type StatusCode = (typeof statusCode)[keyof typeof statusCode];

export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  readonly code: StatusCode;

  constructor(code: StatusCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Go's names of the codes, for metrics. */
const goNames: Readonly<Record<StatusCode, string>> = {
  0: 'OK',
  1: 'Canceled',
  2: 'Unknown',
  4: 'DeadlineExceeded',
  5: 'NotFound',
  8: 'ResourceExhausted',
  9: 'FailedPrecondition',
  12: 'Unimplemented',
  13: 'Internal',
  14: 'Unavailable',
};

export function goCodeName(code: StatusCode): string {
  return goNames[code];
}

/** The code of any thrown value: an error without a code is Unknown, as in Go. */
export function grpcStatusOf(err: unknown): StatusCode {
  return err instanceof GrpcError ? err.code : statusCode.UNKNOWN;
}
