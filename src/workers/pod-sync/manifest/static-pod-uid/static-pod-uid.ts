/**
 * Computes the UID of a static pod without a UID in its manifest, exactly like the Go kubelet (upstream pkg/kubelet/config/common.go
 * applyDefaults). A node can switch between the kubelets without a restart of its static pods.
 *
 *   document, defaulted pod ──▶ internal-pod ──▶ dump ──▶ fnv128a ──▶ 32 hex digits
 */
import type { Draft, Pod } from '../../../../shared/kubernetes/api.ts';
import type { ManifestGates } from '../manifest-gates.ts';
import { dumpPointer } from './dump.ts';
import { Fnv128a } from './fnv128a.ts';
import { toInternalPod } from './internal-pod.ts';

export interface ManifestOrigin {
  readonly source: 'file' | 'http';
  /** The path or URL of the manifest. */
  readonly origin: string;
  readonly nodeName: string;
  /** The pod is an item of a PodList. */
  readonly inList?: boolean;
}

/** The limit for the dumps of all pods of one manifest. */
export interface DumpBudget {
  characters: number;
}

/**
 * A dump may be a thousand times longer than its source: `{}` in the volumes prints 3 KB. Hashing 64 MB takes about 0.6 s. A pod of ten
 * containers prints 30 KB.
 */
const maxDumpedCharacters = 64 << 20;

export function dumpBudget(): DumpBudget {
  return { characters: maxDumpedCharacters };
}

/**
 * Returns 32 hex digits, which depend only on the pod's content, its origin and (for files) its node. `document` is the pod in the
 * manifest, because the hash covers how values were written. `pod` is the same pod with API defaults. Equal documents always get equal
 * UIDs. docs/deviations.md lists the cases in which the UID differs from the Go kubelet's. Throws when the budget is exhausted.
 */
export function staticPodUID(
  document: unknown,
  pod: Draft<Pod>,
  { source, origin, nodeName, inList = false }: ManifestOrigin,
  gates: ManifestGates,
  budget: DumpBudget,
): string {
  const hash = new Fnv128a();
  const update = (text: string) => {
    budget.characters -= text.length;
    if (budget.characters < 0) throw new Error(`pods of more than ${maxDumpedCharacters} characters in print, which no manifest needs`);
    hash.update(Buffer.from(text));
  };
  dumpPointer('core.Pod', toInternalPod(document, pod, gates, inList), update);
  update(source === 'file' ? `host:${nodeName}file:${origin}` : `url:${origin}`);
  return hash.digest();
}
