/** What an admit handler is asked and answers. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { FailedPod } from '../termination/failed-pod.ts';

/** What admission must know of the node: as registered, or as this kubelet itself sees it where there is no API server. */
export interface AdmissionNode {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly taints?: readonly Taint[] };
  readonly status?: {
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly features?: { readonly supplementalGroupsPolicy?: boolean };
  };
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** The pod is Failed for good with this reason. */
export interface Rejection extends FailedPod {
  /** Only the node's labels speak against it, and they may be outdated: ask again with the newest Node. */
  readonly mayBeStaleNode?: boolean;
}

/** A critical pod has no room until these others are ended. */
export interface Preemption {
  readonly victims: readonly Pod[];
  /** What there is too little of. */
  readonly resources: readonly string[];
}

export type AdmitResult = { readonly rejection: Rejection } | { readonly preemption: Preemption } | null;

/** Why a pod can't run beside those that are active; null: it can. */
export type AdmitHandler = (pod: Pod, active: readonly Pod[]) => AdmitResult;
