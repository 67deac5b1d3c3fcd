/** What the wiring of a modelled kubelet passes to every part: a configuration with its defaults, but for gates that the histories need. */
import { PodLifecycleObservers } from '../../../src/main/pods/lifecycle/pod-lifecycle-observers.ts';
import { Shutdown } from '../../../src/main/shutdown.ts';
import type { KubeletContext } from '../../../src/main/wiring/kubelet-context.ts';
import { kubeletOptions } from '../kubelet/kubelet-options.ts';
import type { MortalClock } from './model-clock.ts';
import { modelLogger as logger } from './model-log.ts';

const gates = {
  ContainerRestartRules: true,
  RestartAllContainersOnContainerExits: true,
  PodLevelResources: true,
  InPlacePodLevelResourcesVerticalScaling: true,
  InPlacePodVerticalScalingInitContainers: true,
  InPlacePodVerticalScalingMemoryBackedVolumes: true,
  NodeDeclaredFeatures: true,
};

/** More pods than a history has. */
const maxPods = 20;

const defaults = kubeletOptions({ maxPods }, gates);

export type ModelContext = Omit<KubeletContext, 'threads'>;

export function modelContext(rootDirectory: string, clock: MortalClock, signal: AbortSignal): ModelContext {
  return {
    clock,
    random: () => 0.5,
    options: { ...defaults, flags: { ...defaults.flags, rootDirectory } },
    nodeName: 'node-1',
    log: () => logger,
    shutdown: new Shutdown(logger),
    podLifecycle: new PodLifecycleObservers(logger),
    signal,
  };
}
