/** The reason and the message of a failed pull (upstream evalCRIPullErr, PullImage of the CRI client, and cri-api pkg/errors). Pure. */
import { CriError, grpcCode } from '../../../shared/cri/cri-error.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';

/** Formats the message like Go prints a gRPC error. */
export function rpcMessage(err: unknown): string {
  const message = messageOf(err);
  return err instanceof CriError ? message.slice(message.indexOf('rpc error:')) : message;
}

/**
 * The longest message of a failed pull, in characters. The registry writes parts of the message, gRPC allows about 64 KiB, and the message is kept in the
 * pod's status, in events and in the back-off of each pod.
 */
const maxLength = 8 * 1024;

/** Formats the message of a failed pull, without `rpc error: code = Unknown desc = `: pullFailure finds a reason only at the beginning of the message. */
export function pullMessage(err: unknown): string {
  const message = rpcMessage(err);
  const isUnknown = err instanceof CriError && err.code === grpcCode.UNKNOWN;
  return cut(isUnknown ? message.slice(message.indexOf('desc = ') + 'desc = '.length) : message);
}

/** The different messages of a pull that failed with each of a pod's credentials, which can be thousands. */
export class PullMessages {
  readonly #messages = new Set<string>();
  #totalLength = 0;

  add(err: unknown): void {
    const message = pullMessage(err);
    if (this.#totalLength > maxLength || this.#messages.has(message)) return;
    this.#messages.add(message);
    this.#totalLength += message.length;
  }

  /** Joins the messages as Go prints an aggregate of errors. */
  toString(): string {
    const messages = [...this.#messages];
    return messages.length === 1 ? messages[0]! : cut(`[${messages.join(', ')}]`);
  }
}

function cut(text: string): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength).toWellFormed()}…`;
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
