/** Creates main's side of the probes with the feature gates that they depend on. */
import type { ContainerID } from '../../shared/kubernetes/ids.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import { ProbeManager } from '../probes/index.ts';
import type { KubeletContext } from './kubelet-context.ts';

export interface ProbeManagerCreation extends Pick<KubeletContext, 'clock' | 'options' | 'log'> {
  readonly cache: RuntimeStatusCache;
  /** Containers whose postStart hook an earlier kubelet has not ended. */
  readonly unfinishedHooks: readonly ContainerID[];
}

export function createProbeManager({ clock, options, log, cache, unfinishedHooks }: ProbeManagerCreation): ProbeManager {
  const { featureGates } = options;
  return new ProbeManager({
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
}
