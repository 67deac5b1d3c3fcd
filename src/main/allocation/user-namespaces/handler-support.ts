/** Decides whether a runtime handler can run a pod with a user namespace. Pure. Upstream: GetOrCreateUserNamespaceMappings, HandlerSupportsUserNamespaces. */
import type { RuntimeHandler } from '../../../shared/contracts/node-info.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';

/**
 * Returns the problem in upstream's words, or null.
 * @param handlers empty when the runtime reports none (containerd before 2.0): it then has no support
 * @param handler empty for the runtime's default
 */
export function userNamespaceProblem(handlers: readonly RuntimeHandler[], handler: string): string | null {
  const found = handlers.find(({ name }) => name === handler);
  if (found?.userNamespaces) return null;
  const subject = handler === '' ? 'runtime' : `RuntimeClass handler ${goQuote(handler)}`;
  const problem = `can't set \`spec.hostUsers: false\`, ${subject} does not support user namespaces`;
  return found || handlers.length === 0 ? problem : `${problem}: the handler ${goQuote(handler)} is not known`;
}
