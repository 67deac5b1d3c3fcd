/** Decides which pod to run when two manifests give the same pod name. Upstream runs the pod of the last path in sort order. */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podFullName } from '../../shared/kubernetes/ids.ts';
import type { ManifestFile } from './manifest-file.ts';

export interface ChosenPods {
  readonly pods: readonly Pod[];
  /** By path. A manifest whose pod is not chosen has an error too. */
  readonly errors: ReadonlyMap<string, string>;
}

/** A pod that its file contains now takes precedence over the last valid pod of an invalid file; otherwise the last path wins. */
export function choosePods(manifests: ReadonlyMap<string, ManifestFile>): ChosenPods {
  const errors = new Map<string, string>();
  const chosen = new Map<string, { readonly path: string; readonly pod: Pod; readonly isFresh: boolean }>();
  for (const [path, { pod, error }] of [...manifests].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (error !== null) errors.set(path, error);
    if (!pod) continue;
    const isFresh = error === null;
    const sameName = chosen.get(podFullName(pod));
    if (sameName?.isFresh && !isFresh) continue;
    if (sameName?.isFresh) errors.set(sameName.path, `pod ${pod.metadata.namespace}/${pod.metadata.name} is also in ${path}, which counts`);
    chosen.set(podFullName(pod), { path, pod, isFresh });
  }
  return { pods: [...chosen.values()].map(({ pod }) => pod), errors };
}
