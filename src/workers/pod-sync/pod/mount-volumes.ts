/**
 * Mounts all volumes of a pod, or fails the sync, which main then retries with a back-off. When an object that a volume needs (a secret, a
 * token) appears, main syncs the pod at once; the back-off covers all other failures. Upstream: WaitForAttachAndMount, and the back-off of
 * its operations (exponentialbackoff: 500 ms, doubling).
 */
import type { ContainerBackoff } from '../../../shared/contracts/pod-sync/result.ts';
import type { SyncPodTask } from '../../../shared/contracts/pod-sync/task.ts';
import { KubeletError, messageOf } from '../../../shared/errors/kubelet-error.ts';
import { volumesToMount } from '../../../shared/kubernetes/volume-kind.ts';
import { stepBackoff, withJitter } from '../../../shared/time/backoff.ts';
import type { TaskContext } from './dependencies.ts';
import { requestPodObjects } from './pod-objects.ts';
import type { MountVolumesInput } from './volumes/index.ts';
import type { SyncReport } from './sync-report.ts';

/** The key among the pod's back-offs. Keys of containers contain a slash. */
const backoffKey = 'volumes';
/** Upstream's exponentialbackoff: from 500 ms to 2 min 2 s. The back-off starts anew after twice the maximum. */
const limits = { initialMs: 500, maxMs: 122_000, resetAfterMs: 244_000 };

/** Rejects with KubeletError `FailedMount` when a volume is not mounted. A volume that is only outdated does not fail the sync. */
export async function mountVolumes(context: TaskContext, task: SyncPodTask, report: SyncReport): Promise<void> {
  const { pod, backoffs } = task;
  const { volumes, node, channel, events, clock, logger, largeWork } = context;
  const input: MountVolumesInput = {
    pod,
    node,
    requestPodObjects: (refs, maxBytes) => requestPodObjects(channel, refs, maxBytes),
    publishVolume: (volume) => channel.publishVolume(volume),
    publishedVolumes: context.publishedVolumes,
    inTurn: (work) => largeWork.inTurn(channel.signal, work),
    signal: channel.signal,
  };
  const failures = await volumes.mountVolumes(input).catch((err: unknown) => {
    channel.signal.throwIfAborted();
    events.onPod('Warning', 'FailedMount', `Unable to attach or mount volumes: ${messageOf(err)}`);
    throw new KubeletError('FailedMount', messageOf(err), { cause: err });
  });
  const notMounted = failures.filter(({ state }) => state !== 'outdated');
  if (notMounted.length > 0 || !task.volumesMounted) {
    const missingNames = new Set(notMounted.map(({ volume }) => volume));
    channel.volumesMounted(volumesToMount(pod).flatMap(({ name }) => (missingNames.has(name) ? [] : [name])));
  }
  const previous = backoffs.find(({ key }) => key === backoffKey);
  if (failures.length === 0) {
    if (previous && previous.backoffMs > 0) report.setBackoff({ key: backoffKey, backoffMs: 0, lastUpdateMs: 0 });
    return;
  }
  for (const { message, state, reason = 'FailedMount' } of failures)
    if (state === 'missing' || state === 'outdated') events.onPod('Warning', reason, message);
  const backoff = nextBackoff(previous, clock.now());
  report.setBackoff(backoff);
  report.retryAt(clock.now() + withJitter(backoff.backoffMs, 0.1));
  if (notMounted.length === 0) {
    logger.warn({ volumes: failures.map(({ message }) => message) }, 'volumes could not be brought up to date');
    return;
  }
  const unknownFailures = notMounted.filter(({ state }) => state === 'unknown');
  const reasons = (unknownFailures.length > 0 ? unknownFailures : notMounted).map(({ message }) => message).join('; ');
  const names = (list: typeof notMounted) => list.map(({ volume }) => volume).join(' ');
  const unattached = notMounted.filter(({ isUnattached }) => isUnattached);
  const summary = `unmounted volumes=[${names(notMounted)}], unattached volumes=[${names(unattached)}], failed to process volumes=[${names(unknownFailures)}]`;
  // The delays before the longest one add up to 2 min, upstream's podAttachAndMountTimeout. From then on the event names all missing volumes.
  const timedOut = backoff.backoffMs >= limits.maxMs;
  const cause = unknownFailures.length > 0 ? reasons : 'context deadline exceeded';
  if (unknownFailures.length > 0 || timedOut)
    events.onPod('Warning', 'FailedMount', `Unable to attach or mount volumes: ${summary}: ${cause}`);
  throw new KubeletError('FailedMount', `${summary}: ${reasons}`);
}

/** A back-off of 0 ms was reset by a success (see `mountVolumes`), and counts as none. */
function nextBackoff(previous: ContainerBackoff | undefined, nowMs: number): ContainerBackoff {
  const entry = previous && previous.backoffMs > 0 ? previous : undefined;
  return { key: backoffKey, ...stepBackoff(entry, nowMs, nowMs, limits) };
}
