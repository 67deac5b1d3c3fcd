/** Converts a failed runtime call to upstream's error text (without the name of the call) and HTTP status. */
import { CriError, grpcCode } from '../../../shared/cri/cri-error.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';

export function toGoErrorText(err: unknown): string {
  return err instanceof CriError ? err.message.slice(err.call.length + ': '.length) : messageOf(err);
}

/** Upstream: streaming.WriteError. */
export function toStreamErrorStatus(err: unknown): number {
  if (!(err instanceof CriError)) return 500;
  if (err.code === grpcCode.NOT_FOUND) return 404;
  return err.code === grpcCode.RESOURCE_EXHAUSTED ? 429 : 500;
}
