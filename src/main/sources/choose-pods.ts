/** Which pod counts when two manifests give the same name: pure. Upstream's store keeps the one it read last, by sorted path. */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podFullName } from '../../shared/kubernetes/ids.ts';
import type { ManifestFile } from './manifest-file.ts';

export interface ChosenPods {
  readonly pods: readonly Pod[];
  /** By path: the file's own, or that another file's pod took its place. */
  readonly errors: ReadonlyMap<string, string>;
}

/** A pod that its file says now goes before one that only stands because its file is bad; else the last path wins. */
export function choosePods(manifests: ReadonlyMap<string, ManifestFile>): ChosenPods {
  const errors = new Map<string, string>();
  const chosen = new Map<string, { readonly path: string; readonly pod: Pod; readonly isFresh: boolean }>();
  for (const [path, { pod, error }] of [...manifests].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (error !== null) errors.set(path, error);
    if (!pod) continue;
    const isFresh = error === null;
    const other = chosen.get(podFullName(pod));
    if (other?.isFresh && !isFresh) continue;
    if (other?.isFresh) errors.set(other.path, `pod ${pod.metadata.namespace}/${pod.metadata.name} is also in ${path}, which counts`);
    chosen.set(podFullName(pod), { path, pod, isFresh });
  }
  return { pods: [...chosen.values()].map(({ pod }) => pod), errors };
}
