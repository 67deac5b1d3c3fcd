/** The reason and the message of a failed pull (upstream evalCRIPullErr, PullImage of the CRI client, and cri-api pkg/errors). Pure. */
import { CriError, grpcCode } from '../../../shared/cri/cri-error.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';

/** Formats the message like Go prints a gRPC error. */
export function rpcMessage(err: unknown): string {
  const message = messageOf(err);
  return err instanceof CriError ? message.slice(message.indexOf('rpc error:')) : message;
}

/** Formats the message of a failed pull. The code Unknown adds nothing, and a reason at the beginning counts only without it. */
export function pullMessage(err: unknown): string {
  const message = rpcMessage(err);
  return err instanceof CriError && err.code === grpcCode.UNKNOWN ? message.slice(message.indexOf('desc = ') + 'desc = '.length) : message;
}

/** Runtimes prefix the message of some failures with a reason. */
const prefixedReasons: readonly (readonly [reason: string, cause: string])[] = [
  ['RegistryUnavailable', 'the registry is unavailable'],
  ['SignatureValidationFailed', 'the signature validation failed'],
];

export function pullFailure(image: string, err: unknown): { reason: string; message: string } {
  const message = pullMessage(err);
  for (const [reason, cause] of prefixedReasons) {
    if (message.startsWith(reason))
      return { reason, message: `image pull failed for ${image} because ${cause}${message.slice(reason.length)}` };
  }
  return { reason: 'ErrImagePull', message };
}
