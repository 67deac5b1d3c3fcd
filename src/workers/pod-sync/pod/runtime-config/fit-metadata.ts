/**
 * Bounds the labels and annotations that the runtime keeps. Its lists repeat them for every sandbox and container, in one message of at most 16 MiB: a list above that is
 * no list, and the node would be NotReady for what a few pods carry. Pure.
 */

/** Of the user's labels and annotations of one sandbox, so that those of 500 pods fit. */
const maxSandboxBytes = 32 * 1024;
/** Of one annotation of a container. Hooks and ports of real containers have some hundred bytes. */
const maxAnnotationBytes = 8 * 1024;

type Strings = Readonly<Record<string, string>>;

/** Leaves out the longest entries until the rest fits: a manifest that a tool keeps as an annotation goes before what a runtime reads. */
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
