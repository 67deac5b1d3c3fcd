/** The interface of an admit handler. Upstream: PodAdmitHandler in pkg/kubelet/lifecycle. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { AllocatedPod } from '../../allocation/index.ts';
import type { FailedPod } from '../termination/failed-pod.ts';

/** The part of the Node that admission reads: the registered Node, or the local node status of a standalone kubelet. */
export interface AdmissionNode {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly taints?: readonly NodeTaint[] };
  readonly status?: {
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly features?: { readonly supplementalGroupsPolicy?: boolean };
  };
}

export interface NodeTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** The pod becomes Failed with this reason and never runs. */
export interface Rejection extends FailedPod {
  /** The pod fails only because of the node's labels, and the kubelet's copy of the Node may be stale: the caller reads the Node and tries once more. */
  readonly mayBeStaleNode?: boolean;
}

/** A critical pod fits only after these pods have terminated. */
export interface Preemption {
  readonly victims: readonly Pod[];
  /** The names of the insufficient resources. */
  readonly resources: readonly string[];
}

export type AdmitResult = { readonly rejection: Rejection } | { readonly preemption: Preemption } | null;

/**
 * Decides whether a pod can run in addition to the active pods. Null admits the pod. `stopping`: pods without containers whose sandboxes may still hold
 * host ports; absent: none.
 */
export type AdmitHandler = (pod: Pod, active: readonly AllocatedPod[], stopping?: readonly Pod[]) => AdmitResult;
