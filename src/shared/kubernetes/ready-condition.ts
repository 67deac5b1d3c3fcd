/** The condition Ready of pods and nodes. Pure. Upstream: IsPodReadyConditionTrue in pkg/api/v1/pod/util.go. */
import type { PodStatus } from './api.ts';

export function isReadyCondition({ type }: { readonly type?: string }): boolean {
  return type === 'Ready';
}

export function isReadyTrue(condition: { readonly type?: string; readonly status?: string }): boolean {
  return isReadyCondition(condition) && condition.status === 'True';
}

export function isPodReady(status: PodStatus | undefined): boolean {
  return status?.conditions?.some(isReadyTrue) ?? false;
}
