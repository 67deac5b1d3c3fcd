/** How urgent a sync's wish to start something is: pure. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { PodTask } from '../../threads/task-channel.ts';
import { firstSeenMs } from '../first-seen.ts';
import { isCriticalPod } from '../admission/index.ts';
import { isStaticPod } from '../static/static-pod.ts';
import type { StartRank, StartRequest } from './start-admission.ts';

/** Of system-node-critical, the highest there is: a static pod is critical whatever it says (upstream: kubetypes.IsCriticalPod). */
const criticalPriority = 2_000_001_000;

export function startRequest(kind: 'sandbox' | 'container', task: PodTask): StartRequest {
  if (task.kind !== 'sync') return { kind, restart: false, critical: true, priority: criticalPriority, podSeenAtMs: 0 };
  const { pod, status } = task;
  const regular = new Set(pod.spec.containers.map(({ name }) => name));
  return {
    kind,
    restart: status?.containers.some(({ name, state }) => state === 'exited' && regular.has(name)) ?? false,
    critical: isCriticalPod(pod),
    ...startRank(pod),
  };
}

export function startRank(pod: Pod): StartRank {
  return { priority: isStaticPod(pod) ? criticalPriority : (pod.spec.priority ?? 0), podSeenAtMs: firstSeenMs(pod) };
}
