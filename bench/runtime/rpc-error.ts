/** An error as a gRPC server answers it. Codes and wording follow containerd 1.7, because kubelets are tested against those. */
import { grpcCode, type GrpcCode } from '../../src/shared/cri/cri-error.ts';

export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: GrpcCode;

  constructor(code: GrpcCode, details: string) {
    super(details);
    this.code = code;
  }
}

/** containerd's NotFound: the kubelet treats it as "already gone". */
export function notFound(what: string): RpcError {
  return new RpcError(grpcCode.NOT_FOUND, `${what}: not found`);
}

/** What containerd answers for every error that it has no class for. */
export function unknown(message: string): RpcError {
  return new RpcError(grpcCode.UNKNOWN, message);
}

export function unimplemented(method: string, service = 'runtime.v1.RuntimeService'): RpcError {
  return new RpcError(grpcCode.UNIMPLEMENTED, `unknown method ${method} for service ${service}`);
}

export function cancelled(): RpcError {
  return new RpcError(grpcCode.CANCELLED, 'context canceled');
}
