/** gRPC errors with containerd 1.7's codes and texts. */
import { grpcCode, type GrpcCode } from '../../src/shared/cri/cri-error.ts';

export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: GrpcCode;

  constructor(code: GrpcCode, details: string) {
    super(details);
    this.code = code;
  }
}

/** containerd's NotFound, which the kubelet treats as already removed. */
export function notFound(what: string): RpcError {
  return new RpcError(grpcCode.NOT_FOUND, `${what}: not found`);
}

/** containerd's code for all errors without a class. */
export function unknown(message: string): RpcError {
  return new RpcError(grpcCode.UNKNOWN, message);
}

export function unimplemented(method: string, service = 'runtime.v1.RuntimeService'): RpcError {
  return new RpcError(grpcCode.UNIMPLEMENTED, `unknown method ${method} for service ${service}`);
}

export function cancelled(): RpcError {
  return new RpcError(grpcCode.CANCELLED, 'context canceled');
}
