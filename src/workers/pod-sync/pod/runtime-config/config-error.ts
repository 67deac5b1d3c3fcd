/** The error of a container whose config cannot be made. */
import { KubeletError, messageOf } from '../../../../shared/errors/kubelet-error.ts';
import { TooLongError } from '../../../../shared/kubernetes/expansion.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';

/** Returns a KubeletError `CreateContainerConfigError`. The message of a TooLongError does not name the container, so the name is added. */
export function toConfigError({ name }: { readonly name: string }, err: unknown): KubeletError {
  const prefix = err instanceof TooLongError ? `container ${goQuote(name)}: ` : '';
  return new KubeletError('CreateContainerConfigError', `${prefix}${messageOf(err)}`, { cause: err });
}
