/**
 * Resolves recursiveReadOnly: whether mounts below a read-only volume are read-only too. The pod sync mounts accordingly and the
 * API status reports the result (upstream kubelet_pods.go resolveRecursiveReadOnly,
 * runtimeHandlerSupportsRecursiveReadOnlyMounts).
 */
import type { RuntimeHandler } from '../contracts/node-info.ts';
import type { VolumeMount } from '../kubernetes/api.ts';
import { goQuote } from '../kubernetes/go-text.ts';

/** The empty handler name is the runtime's default. A handler that the runtime does not report has no features. */
export function supportsRecursiveReadOnly(handlers: readonly RuntimeHandler[], handler: string): boolean {
  return handlers.find(({ name }) => name === handler)?.recursiveReadOnlyMounts ?? false;
}

/** Throws an Error when the mount requires the mode and the mode is not available. */
export function recursiveReadOnly(
  { name, readOnly, recursiveReadOnly: mode, mountPropagation: propagation }: VolumeMount,
  isSupported: boolean,
): boolean {
  if (mode === undefined || mode === 'Disabled') return false;
  const fail = (problem: string) => new Error(`failed to resolve recursive read-only mode: ${problem}`);
  const messageStart = `volume ${goQuote(name)} requested recursive read-only mode, but it is not`;
  if (!readOnly) throw fail(`${messageStart} read-only`);
  if (propagation !== undefined && propagation !== 'None')
    throw fail(`${messageStart} compatible with propagation ${goQuote(propagation)}`);
  if (mode === 'IfPossible') return isSupported;
  if (mode !== 'Enabled') throw fail(`unknown recursive read-only mode ${goQuote(mode)}`);
  if (!isSupported) throw fail(`${messageStart} supported by the runtime`);
  return true;
}
