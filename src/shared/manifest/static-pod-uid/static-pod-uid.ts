/**
 * The UID of a static pod whose manifest gives none, as the Go kubelet makes it, so that a node can change over from it and back without
 * restarting its static pods (upstream pkg/kubelet/config/common.go applyDefaults).
 *
 *   document, defaulted pod ──▶ internal-pod ──▶ dump ──▶ fnv128a ──▶ 32 hex digits
 */
import type { Draft, Pod } from '../../kubernetes/api.ts';
import { dumpPointer } from './dump.ts';
import { Fnv128a } from './fnv128a.ts';
import { toInternalPod } from './internal-pod.ts';

export interface ManifestOrigin {
  readonly source: 'file' | 'http';
  /** The path or URL. */
  readonly origin: string;
  readonly nodeName: string;
}

/** What one manifest's pods may come to in print. */
export interface DumpBudget {
  characters: number;
}

/**
 * A dump may be a thousand times as long as what it is of: `{}` among the volumes is 3 KB. 64 MB are hashed in about 0.6 s; a pod of ten
 * containers has 30 KB.
 */
const maxDumpedCharacters = 64 << 20;

export function dumpBudget(): DumpBudget {
  return { characters: maxDumpedCharacters };
}

/**
 * 32 hex digits that change with the pod's content, its origin or (for files) its node, and with nothing else. `document` is the pod as it
 * stands in the manifest, since Go's hash knows how things were written; `pod` is the same after its API defaults. Whatever the document holds,
 * the same document gives the same UID; it is the Go kubelet's but for what docs/deviations.md names. Throws when the budget is spent.
 */
export function staticPodUID(document: unknown, pod: Draft<Pod>, { source, origin, nodeName }: ManifestOrigin, budget: DumpBudget): string {
  const hash = new Fnv128a();
  const update = (text: string) => {
    budget.characters -= text.length;
    if (budget.characters < 0) throw new Error(`pods of more than ${maxDumpedCharacters} characters in print, which no manifest needs`);
    hash.update(Buffer.from(text));
  };
  dumpPointer('core.Pod', toInternalPod(document, pod), update);
  update(source === 'file' ? `host:${nodeName}file:${origin}` : `url:${origin}`);
  return hash.digest();
}
