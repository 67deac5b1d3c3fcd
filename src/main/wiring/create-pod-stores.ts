/** Creates what the kubelet knows of pods: those that the sources want, where they are in their lifecycles, and what each phase took. */
import { PodStates } from '../pods/lifecycle/pod-states.ts';
import { PodManager } from '../pods/pod-manager.ts';
import type { SourcesReady } from '../sources/index.ts';
import type { PodTimelines } from '../timeline/index.ts';
import { startTimelines, type TimelinesStart } from './start-timelines.ts';

export interface PodStoresCreation extends Omit<TimelinesStart, 'podManager'> {
  readonly sourcesReady: Pick<SourcesReady, 'allReady'>;
}

export interface PodStores {
  readonly podManager: PodManager;
  readonly podStates: PodStates;
  readonly timelines: PodTimelines;
}

export function createPodStores(creation: PodStoresCreation): PodStores {
  const podManager = new PodManager();
  const podStates = new PodStates(() => creation.sourcesReady.allReady());
  return { podManager, podStates, timelines: startTimelines({ ...creation, podManager }) };
}
