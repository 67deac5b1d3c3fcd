/** Creates what decides whether a pod may run on this node. */
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { NodePressure } from '../eviction/index.ts';
import { declaredFeatures, type ClusterNode, type RuntimeState } from '../node/index.ts';
import type { NodeShutdownState } from '../node-shutdown/index.ts';
import { admitHandlers, missingFeaturesForUpdate, type AdmissionNode, type AdmitHandler } from '../pods/admission/index.ts';
import type { KubeletContext } from './kubelet-context.ts';

export interface AdmissionCreation extends Pick<KubeletContext, 'options'> {
  readonly nodeServices: {
    /** Null when standalone. */
    readonly clusterNode: Pick<ClusterNode, 'fetch'> | null;
    readonly node: () => AdmissionNode | null;
    readonly pressure: Pick<NodePressure, 'conditions'>;
    readonly shutdown: Pick<NodeShutdownState, 'isShuttingDown'>;
  };
  readonly runtime: { readonly runtimeState: Pick<RuntimeState, 'info'> };
}

export interface Admission {
  readonly admitHandlers: readonly AdmitHandler[];
  /** Returns why the node cannot apply the change of a pod; null when it can. */
  readonly missingFeaturesForUpdate: (before: Pod, after: Pod) => string | null;
  /** Fetches the Node before a pod is rejected for the node's labels. Null when standalone. Settles, and does not reject. */
  readonly refreshNode: (() => Promise<unknown>) | null;
}

export function createAdmission({ options, nodeServices, runtime }: AdmissionCreation): Admission {
  const { clusterNode, node, pressure, shutdown } = nodeServices;
  const declared = declaredFeatures(options.featureGates, runtime.runtimeState.info);
  return {
    admitHandlers: admitHandlers({
      ...options,
      node,
      declaredFeatures: declared,
      pressureConditions: () => pressure.conditions,
      isShuttingDown: () => shutdown.isShuttingDown,
    }),
    missingFeaturesForUpdate: (before, after) => missingFeaturesForUpdate(before, after, declared),
    refreshNode: clusterNode ? () => clusterNode.fetch().catch(() => {}) : null,
  };
}
