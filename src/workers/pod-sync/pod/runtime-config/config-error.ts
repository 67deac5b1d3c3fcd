import { KubeletError, messageOf } from '../../../../shared/errors/kubelet-error.ts';
import { TooLongError } from '../../../../shared/kubernetes/expansion.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';

/** Returns a KubeletError `CreateContainerConfigError`. Of a text that is too long it names the container. */
export function toConfigError({ name }: { readonly name: string }, err: unknown): KubeletError {
  const prefix = err instanceof TooLongError ? `container ${goQuote(name)}: ` : '';
  return new KubeletError('CreateContainerConfigError', `${prefix}${messageOf(err)}`, { cause: err });
}
