/** Why a pod ends as Failed: an eviction, a preemption, an exceeded deadline or a rejected admission. */
export interface FailedPod {
  readonly reason: string;
  readonly message: string;
  /** The content of the pod's DisruptionTarget condition, when the pod is disrupted rather than at fault. */
  readonly disruption?: { readonly reason: string; readonly message: string };
}
