/**
 * Static pods that run on although their manifest is broken. An event of the pod says so, once for each content of the manifest: `kubectl describe` of the mirror
 * pod shows it, and the log of the node has the same error. Pure.
 */
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podReference } from '../events/index.ts';
import type { ManifestFile } from './manifest-file.ts';

/** @param origin the path or the URL */
export function keptPodEvent(pod: Pod, origin: string, error: string): RecordedEvent {
  const message = `Manifest ${origin} is not valid, the pod is kept as it was: ${error}`;
  return { object: podReference(pod), type: 'Warning', reason: 'FailedValidation', message };
}

/**
 * Returns the events for the manifests that have become broken, or broken in another way, since the previous scan. An empty file has none: editors empty a file
 * before they write it.
 * @param pods the pods that the source reports
 */
export function keptPodEvents(
  previous: ReadonlyMap<string, ManifestFile>,
  current: ReadonlyMap<string, ManifestFile>,
  pods: readonly Pod[],
): RecordedEvent[] {
  return [...current].flatMap(([path, file]) => {
    const { pod, error, emptySinceMs, isUndecoded } = file;
    if (!pod || error === null || emptySinceMs !== undefined || isUndecoded || !pods.includes(pod)) return [];
    const before = previous.get(path);
    const isKnown = before?.error === error && before.contentHash === file.contentHash;
    return isKnown ? [] : [keptPodEvent(pod, path, error)];
  });
}
