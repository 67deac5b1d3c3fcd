/** Ends a pod in the runtime: all its containers in parallel, then its sandboxes (upstream killPodWithSyncResult). */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import { isRestartableInitContainer } from '../../../shared/kubernetes/restart-policy.ts';
import type { TaskContext } from '../dependencies.ts';
import { rpcErrorOf } from '../pod-runtime.ts';
import type { ActionFailure } from '../sync-report.ts';
import { killContainer } from './kill-container.ts';
import { podIPForHooks } from '../hooks/run-hook.ts';
import { TerminationOrder } from './termination-order.ts';

/**
 * Answers with what could not be ended. Sandboxes are stopped even then, since that is what ends a container which did not want to; they are
 * removed later, by container garbage collection. Rejects with Stopped only.
 * @param meanwhile runs while the sandboxes are stopped, if every container has ended; its signal aborts when they are: nobody waits for it
 */
export async function killPod(
  context: TaskContext,
  status: RuntimePodStatus,
  graceOverrideSeconds: number | null,
  meanwhile?: (signal: AbortSignal) => Promise<void>,
): Promise<ActionFailure[]> {
  const failures = await killContainers(context, status, graceOverrideSeconds);
  const over = new AbortController();
  const besides = failures.length === 0 ? meanwhile?.(over.signal) : undefined;
  try {
    return [...failures, ...(await stopSandboxes(context, status))];
  } finally {
    over.abort();
    await besides;
  }
}

async function killContainers(
  context: TaskContext,
  status: RuntimePodStatus,
  graceOverrideSeconds: number | null,
): Promise<ActionFailure[]> {
  const { identity, channel } = context;
  // One in an unknown state may run.
  const running = status.containers.filter(({ state }) => state === 'running' || state === 'unknown');
  const hasSidecars = identity.pod?.spec.initContainers?.some(isRestartableInitContainer) ?? false;
  const order = hasSidecars && identity.pod ? new TerminationOrder(identity.pod, new Set(running.map(({ name }) => name))) : undefined;
  const podIP = podIPForHooks(context, status.podIPs);
  const failures: ActionFailure[] = [];
  await Promise.all(
    running.map(async ({ id, name, orphan }) => {
      try {
        const request = { id, name, message: '', reason: 'Unknown', graceOverrideSeconds, orphan, podIP } as const;
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

async function stopSandboxes({ identity, runtime, channel }: TaskContext, { sandboxes }: RuntimePodStatus): Promise<ActionFailure[]> {
  const failures: ActionFailure[] = [];
  for (const { id } of sandboxes) {
    try {
      await runtime.stopPodSandbox(id);
    } catch (err) {
      failures.push({ action: 'KillPodSandbox', target: identity.uid, reason: 'KillPodSandboxError', message: rpcErrorOf(err) });
    }
    channel.signal.throwIfAborted();
  }
  return failures;
}
