/** Kills a pod in the runtime: all its containers in parallel, then stops its sandboxes (upstream killPodWithSyncResult). */
import type { RuntimePodStatus } from '../../../../shared/contracts/runtime-status.ts';
import { isRestartableInitContainer } from '../../../../shared/kubernetes/restart-policy.ts';
import type { TaskContext } from '../dependencies.ts';
import { rpcErrorOf } from '../pod-runtime.ts';
import type { ActionFailure } from '../sync-report.ts';
import { killContainer } from './kill-container.ts';
import { podIPForHooks } from '../hooks/index.ts';
import { inPhase } from '../in-phase.ts';
import { TerminationOrder } from './termination-order.ts';

/**
 * Returns the failures. Sandboxes are stopped even after a failure, because this also ends containers that could not be killed. Container
 * garbage collection removes the sandboxes later. Rejects with Stopped only.
 * @param whileSandboxesStop called when every container has terminated; its signal aborts when the sandboxes are stopped
 */
export async function killPod(
  context: TaskContext,
  status: RuntimePodStatus,
  gracePeriodOverrideSeconds: number | null,
  whileSandboxesStop?: (signal: AbortSignal) => Promise<void>,
): Promise<ActionFailure[]> {
  const failures = await killContainers(context, status, gracePeriodOverrideSeconds);
  const sandboxesStopped = new AbortController();
  const parallelWork = failures.length === 0 ? whileSandboxesStop?.(sandboxesStopped.signal) : undefined;
  try {
    return [...failures, ...(await stopSandboxes(context, status))];
  } finally {
    sandboxesStopped.abort();
    await parallelWork;
  }
}

/** A pod that was deleted while no kubelet ran gets 30 s at most, also if its own grace period is longer: its replacement runs already. */
const goneFromApi = { maximumSeconds: 30 };

async function killContainers(
  context: TaskContext,
  status: RuntimePodStatus,
  gracePeriodOverrideSeconds: number | null,
): Promise<ActionFailure[]> {
  const { identity, channel } = context;
  // A container in an unknown state may run.
  const runningContainers = status.containers.filter(({ state }) => state === 'running' || state === 'unknown');
  const hasSidecars = identity.pod?.spec.initContainers?.some(isRestartableInitContainer) ?? false;
  const order =
    hasSidecars && identity.pod ? new TerminationOrder(identity.pod, new Set(runningContainers.map(({ name }) => name))) : undefined;
  const podIP = podIPForHooks(context, status.podIPs);
  const isGone = identity.pod === null && !status.sandboxes.some(({ isStatic }) => isStatic);
  const failures: ActionFailure[] = [];
  await Promise.all(
    runningContainers.map(async ({ id, name, orphan }) => {
      try {
        const request = {
          id,
          name,
          message: '',
          reason: 'Unknown',
          gracePeriodOverrideSeconds,
          orphan,
          podIP,
          ...(isGone && goneFromApi),
        } as const;
        await killContainer(context, order ? { ...request, order } : request);
      } catch (err) {
        channel.signal.throwIfAborted();
        failures.push({ action: 'KillContainer', target: name, reason: 'KillContainerError', message: rpcErrorOf(err) });
      }
    }),
  );
  channel.signal.throwIfAborted();
  return failures;
}

async function stopSandboxes(context: TaskContext, { sandboxes }: RuntimePodStatus): Promise<ActionFailure[]> {
  const { identity, runtime, channel } = context;
  const failures: ActionFailure[] = [];
  for (const { id } of sandboxes) {
    try {
      await inPhase(context, 'SandboxStop', {}, () => runtime.stopPodSandbox(id));
    } catch (err) {
      failures.push({ action: 'KillPodSandbox', target: identity.uid, reason: 'KillPodSandboxError', message: rpcErrorOf(err) });
    }
    channel.signal.throwIfAborted();
  }
  return failures;
}
