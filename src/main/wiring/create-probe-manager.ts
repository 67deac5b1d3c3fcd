/** Creates main's side of the probes: the thread, which starts with its first pod, and the manager with the feature gates that it depends on. */
import type { ContainerID } from '../../shared/kubernetes/ids.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import { ProbeManager, type ProbeManagerOptions } from '../probes/index.ts';
import { ProbesThread } from '../threads/probes-thread.ts';
import type { KubeletContext } from './kubelet-context.ts';
import { probesSettings } from './thread-settings.ts';

export interface ProbeManagerCreation extends Pick<KubeletContext, 'clock' | 'options' | 'log' | 'podLifecycle'> {
  readonly probesThread: ProbeManagerOptions['thread'];
  readonly cache: RuntimeStatusCache;
  /** Containers whose postStart hook an earlier kubelet has not ended. */
  readonly unfinishedHooks: readonly ContainerID[];
}

export function createProbesThread({ options, threads, log, shutdown }: KubeletContext): ProbesThread {
  const thread = ProbesThread.create({ state: threads.state, logger: log('probes'), settings: probesSettings(options) });
  shutdown.register('probes', () => thread.close());
  return thread;
}

export function createProbeManager({
  clock,
  options,
  log,
  podLifecycle,
  probesThread,
  cache,
  unfinishedHooks,
}: ProbeManagerCreation): ProbeManager {
  const { featureGates } = options;
  const probes = new ProbeManager({
    thread: probesThread,
    runtimeStatus: (uid) => cache.get(uid),
    forgetsOnRestart: featureGates.enabled('ChangeContainerStatusOnKubeletRestart'),
    gates: {
      H2CContainerProbe: featureGates.enabled('H2CContainerProbe'),
      GRPCContainerProbeTLS: featureGates.enabled('GRPCContainerProbeTLS'),
    },
    unfinishedHooks,
    clock,
    logger: log('probes'),
  });
  podLifecycle.register({ name: 'probes', forgotten: (uid) => probes.forget(uid), keepOnly: (known) => probes.keepOnly(known) });
  return probes;
}
