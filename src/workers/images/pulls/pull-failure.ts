/** The reason and the message of a failed pull (upstream evalCRIPullErr and cri-api pkg/errors). Pure. */
import { CriError } from '../../../shared/cri/cri-error.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';

/** Formats the message like Go prints a gRPC error. */
export function rpcMessage(err: unknown): string {
  const message = messageOf(err);
  return err instanceof CriError ? message.slice(message.indexOf('rpc error:')) : message;
}

/** Runtimes prefix the message of some failures with a reason. */
const prefixedReasons: readonly (readonly [reason: string, cause: string])[] = [
  ['RegistryUnavailable', 'the registry is unavailable'],
  ['SignatureValidationFailed', 'the signature validation failed'],
];

export function pullFailure(image: string, err: unknown): { reason: string; message: string } {
  const message = rpcMessage(err);
  const details = message.slice(message.startsWith('rpc error:') ? message.indexOf('desc = ') + 'desc = '.length : 0);
  for (const [reason, cause] of prefixedReasons) {
    if (details.startsWith(reason))
      return { reason, message: `image pull failed for ${image} because ${cause}${details.slice(reason.length)}` };
  }
  return { reason: 'ErrImagePull', message };
}
