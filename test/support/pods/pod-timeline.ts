import type { PodTimeline } from '../../../src/shared/timeline/pod-timeline.ts';

/** The timeline of a pod of the API server that starts and is not deleted. */
export function aTimeline(spans: PodTimeline['spans'], fields: Partial<PodTimeline> = {}): PodTimeline {
  return {
    uid: 'u',
    namespace: 'default',
    name: 'web',
    source: 'api',
    state: 'Starting',
    seenAtMs: 1,
    epochMs: 0,
    restored: false,
    deletionWantedAtMs: null,
    finishedAtMs: null,
    objectGoneAtMs: null,
    graceSeconds: 30,
    mergedContainers: 0,
    problem: '',
    spans,
    ...fields,
  };
}
