/**
 * Limits how many logs are read at a time. Half of the places are only for namespaces that read few logs, so that one tenant's followers exclude no other
 * tenant. Pure.
 */

/** Each reader has an open file descriptor and one buffered block. */
export const maxReaders = 1000;
/** Applies while at least half of `maxReaders` are in use. */
const maxReadersOfNamespace = 100;

/** Returns why a namespace may not read one more log, or null. */
export function refuseReader(readers: { readonly total: number; readonly ofNamespace: number }, namespace: string): string | null {
  const { total, ofNamespace } = readers;
  if (total >= maxReaders) return `${maxReaders} logs are being read already`;
  if (total < maxReaders / 2 || ofNamespace < maxReadersOfNamespace) return null;
  return `${total} logs are being read already, ${ofNamespace} of namespace ${namespace}`;
}
