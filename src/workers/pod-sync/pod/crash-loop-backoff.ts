/**
 * CrashLoopBackOff: decides whether a container that exited must wait before it restarts (upstream kuberuntime doBackOff, kubelet.go
 * newCrashLoopBackOff). Pure: main keeps the back-offs between tasks. An annotation of each container also records the back-off that follows its exit, so
 * that a restarted kubelet continues with it.
 */
import type { ContainerBackoff } from '../../../shared/contracts/pod-sync/result.ts';
import type { RuntimeContainerStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container, Pod } from '../../../shared/kubernetes/api.ts';
import { fnv32a } from '../../../shared/kubernetes/container-hash.ts';
import { podUID } from '../../../shared/kubernetes/ids.ts';
import { backoffUntilMs, stepBackoff } from '../../../shared/time/backoff.ts';

/** A back-off expires 10 min after its last step, whatever the maximum is (upstream crashLoopBackOff.HasExpiredFunc). */
export const resetAfterMs = 600_000;

export interface CrashLoopLimits {
  /** 10 s upstream. */
  readonly initialMs: number;
  /** 5 min upstream; `crashLoopBackOff.maxContainerRestartPeriod` lowers it. */
  readonly maxMs: number;
}

/** A new image or new resources change the key, which resets the back-off. */
export function backoffKey(pod: Pod, container: Container): string {
  const parts = [podUID(pod), container.name, container.image ?? '', JSON.stringify(container.resources ?? {})];
  return `${container.name}/${fnv32a(Buffer.from(parts.join('/'))).toString(16)}`;
}

export type BackoffDecision =
  | { readonly wait: false; readonly backoff?: ContainerBackoff }
  /** `untilMs`: wall-clock ms from which the container may start. */
  | { readonly wait: true; readonly untilMs: number; readonly backoffMs: number };

/**
 * Called right before a container is started. When the container may restart, the result holds the back-off that applies after its next
 * exit. A container that never exited has no back-off.
 */
export function computeBackoffDecision(input: {
  readonly key: string;
  /** The newest instance that has exited, if any. */
  readonly exited: RuntimeContainerStatus | undefined;
  readonly backoffs: readonly ContainerBackoff[];
  readonly nowMs: number;
  readonly limits: CrashLoopLimits;
}): BackoffDecision {
  const { key, exited, backoffs, nowMs } = input;
  if (!exited) return { wait: false };
  const limits = { ...input.limits, resetAfterMs };
  const entry = backoffs.find((backoff) => backoff.key === key) ?? recordedBackoff(key, exited, limits.maxMs);
  const untilMs = backoffUntilMs(entry, exited.finishedAtMs, nowMs, limits);
  if (entry && untilMs !== undefined) return { wait: true, untilMs, backoffMs: entry.backoffMs };
  return { wait: false, backoff: { key, ...stepBackoff(entry, exited.finishedAtMs, nowMs, limits) } };
}

/** Returns the back-off of the container's annotation. The container was created right after the back-off's last step. */
function recordedBackoff(
  key: string,
  { restartBackOff, createdAtMs }: RuntimeContainerStatus,
  maxMs: number,
): ContainerBackoff | undefined {
  if (restartBackOff?.key !== key) return undefined;
  return { key, backoffMs: Math.min(restartBackOff.backoffMs, maxMs), lastUpdateMs: createdAtMs };
}
