/** Runs one task of the sync pool, of any kind. Never throws: a thrown error loses its reason between threads. */
import type { PodSyncResult } from '../../../shared/contracts/pod-sync/result.ts';
import type { PodSyncTaskReply, PodSyncTask } from '../../../shared/contracts/pod-sync/task.ts';
import { runWithParent } from '../../../shared/tracing/index.ts';
import type { PodSyncDependencies, TaskContext } from './dependencies.ts';
import { toTaskPod, PodEvents, type TaskPod } from './pod-events.ts';
import { TaskChannelClient, type ChannelPort } from './task-channel-client.ts';
import { syncPod } from './sync-pod.ts';
import { SyncReport } from './sync-report.ts';
import { cleanUpPod, syncTerminatedPod } from './sync-terminated-pod.ts';
import { syncTerminatingPod } from './sync-terminating-pod.ts';

export async function runTask(dependencies: PodSyncDependencies, task: PodSyncTask, port: ChannelPort): Promise<PodSyncTaskReply> {
  const channel = new TaskChannelClient(port, task.kind === 'sync' && task.hasSandboxPermit);
  const result = await runWithParent(task.traceParent, () => runOnChannel(dependencies, task, channel));
  return { result, notifications: channel.close() };
}

async function runOnChannel(dependencies: PodSyncDependencies, task: PodSyncTask, channel: TaskChannelClient): Promise<PodSyncResult> {
  const largeWork = dependencies.largeWork.forTask();
  try {
    const identity = identify(task);
    const logger = dependencies.logger.child({ pod: `${identity.namespace}/${identity.name}`, podUID: identity.uid });
    const runtimeHandler = (task.kind === 'sync' && task.runtimeHandler) || { handler: '' };
    const context = {
      ...dependencies,
      identity,
      node: task.node,
      runtimeHandler,
      actuated: task.kind === 'sync' ? task.actuated : undefined,
      allocation: (task.kind === 'sync' && task.allocation) || {},
      imageVolumePulls: new Map(),
      publishedVolumes: new Map(),
      channel,
      events: new PodEvents(channel, identity),
      logger,
      largeWork,
    };
    const result = await dispatch(context, task);
    if (result.outcome === 'failed') logger.debug({ task: task.kind, ...result.failure }, 'task failed');
    return result;
  } catch (err) {
    return new SyncReport().result(err);
  } finally {
    largeWork.close();
  }
}

function dispatch(context: TaskContext, task: PodSyncTask): Promise<PodSyncResult> {
  switch (task.kind) {
    case 'sync':
      return syncPod(context, task);
    case 'terminating':
      return syncTerminatingPod(context, task);
    case 'terminated':
      return syncTerminatedPod(context);
    case 'cleanUp':
      return cleanUpPod(context);
    default:
      return task satisfies never;
  }
}

function identify(task: PodSyncTask): TaskPod {
  const uid = task.podUID;
  if (task.kind === 'cleanUp') return { name: '', namespace: '', uid, pod: null };
  if (task.pod) return toTaskPod(task.pod);
  const { name = '', namespace = '' } = task.status ?? {};
  return { name, namespace, uid, pod: null };
}
