/** Limits the logs that are read at a time, and keeps half of them free for namespaces that read few: one tenant's followers exclude no other. Pure. */

/** Each reader has an open file descriptor and one buffered block. */
export const maxReaders = 1000;
/** When half of all are in use. */
const maxReadersOfNamespace = 100;

/** Returns why a namespace may not read one more log, or null. */
export function refuseReader(readers: { readonly total: number; readonly ofNamespace: number }, namespace: string): string | null {
  const { total, ofNamespace } = readers;
  if (total >= maxReaders) return `${maxReaders} logs are being read already`;
  if (total < maxReaders / 2 || ofNamespace < maxReadersOfNamespace) return null;
  return `${total} logs are being read already, ${ofNamespace} of namespace ${namespace}`;
}
