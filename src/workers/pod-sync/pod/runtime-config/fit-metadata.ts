/**
 * Bounds the labels and annotations that the runtime keeps. The runtime's lists contain those of every sandbox and container in one message, which has at most
 * 16 MiB: a longer list could not be read, and the long annotations of a few pods would make the node NotReady. Pure.
 */

/** The most for the user's labels and annotations of one sandbox: 500 pods with as much fit into 16 MiB. */
const maxSandboxBytes = 32 * 1024;
/** The most for one annotation of a container. Hooks and ports of real containers have some hundred bytes. */
const maxAnnotationBytes = 8 * 1024;

type Strings = Readonly<Record<string, string>>;

/** Omits the longest entries until the rest fits. A manifest that a tool stores in an annotation is long; the entries that runtimes read are short. */
export function fitSandboxMetadata(labels: Strings, annotations: Strings): { readonly labels: Strings; readonly annotations: Strings } {
  const entries = [...toEntries('labels', labels), ...toEntries('annotations', annotations)];
  if (entries.reduce((sum, { bytes }) => sum + bytes, 0) <= maxSandboxBytes) return { labels, annotations };
  const kept: { readonly labels: Record<string, string>; readonly annotations: Record<string, string> } = { labels: {}, annotations: {} };
  let left = maxSandboxBytes;
  for (const { kind, key, value, bytes } of entries.toSorted((a, b) => a.bytes - b.bytes)) {
    if ((left -= bytes) < 0) break;
    kept[kind][key] = value;
  }
  return kept;
}

function toEntries<Kind extends 'labels' | 'annotations'>(kind: Kind, strings: Strings) {
  return Object.entries(strings).map(([key, value]) => ({ kind, key, value, bytes: Buffer.byteLength(key) + Buffer.byteLength(value) }));
}

/** Returns undefined for a value that is too long to be kept. */
export function fitAnnotation(value: string | undefined): string | undefined {
  return value === undefined || Buffer.byteLength(value) > maxAnnotationBytes ? undefined : value;
}
