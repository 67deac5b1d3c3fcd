/**
 * Every message of the contracts, with its sender and its receiver. The compiler checks the table against the contracts: a message without a row does
 * not compile, nor does a row without a message. Not here: the one message of the thread that loads a changed configuration (main/config-reload), and
 * what piscina and Comlink send for themselves. Four kinds:
 *
 *  - request: the sender expects a reply, which goes the other way. A Comlink method is a request; its result is the reply.
 *  - notification: from a worker to main; no reply.
 *  - command: from main to a worker; no reply.
 */
import type { MessagePort } from 'node:worker_threads';
import type { PullTokensApi } from './credential-providers.ts';
import type { HealthApi } from './health.ts';
import type { HelperOperations } from './helper.ts';
import type { ImagesApi, ImagesNotification, ImagesWorkerData } from './images.ts';
import type { PlegApi, PlegNotification } from './pleg.ts';
import type { PodSyncCommand, PodSyncNotification, PodSyncReply, PodSyncRequest } from './pod-sync/channel.ts';
import type { RunIPTablesResult, RunIPTablesTask } from './pod-sync/iptables.ts';
import type { UpdateRuntimeConfigResult, UpdateRuntimeConfigTask } from './pod-sync/runtime-config.ts';
import type { MoveProcessesResult, MoveProcessesTask } from './pod-sync/host-processes.ts';
import type { ListPodCgroupsResult, SyncCgroupsResult, SyncCgroupsTask } from './pod-sync/cgroups.ts';
import type { DecodeManifestResult, DecodeManifestTask } from './pod-sync/decode-manifest.ts';
import type { PodSyncTask, PodSyncTaskReply } from './pod-sync/task.ts';
import type { SlotClaimed } from './pod-sync/worker-data.ts';
import type { ProbeNotification, ProbesApi, ProbesWorkerData } from './probes.ts';
import type { MainApi, ServerApi } from './server/calls.ts';
import type { PluginsApi } from './plugins.ts';
import type { VolumesApi, VolumesNotification } from './volumes.ts';
import type { StatsApi, StatsMainApi, StatsNotification, StatsWorkerData } from './stats.ts';

/** `helper` is the helper process; the others are threads. */
type Party = 'main' | 'pleg' | 'images' | 'stats' | 'probes' | 'server' | 'health' | 'plugins' | 'volumes' | 'pod-sync' | 'helper';

interface Route<Kind extends 'request' | 'notification' | 'command'> {
  readonly kind: Kind;
  readonly from: Party;
  readonly to: Party;
}

interface Exchange<Request, Reply> {
  readonly request: Request;
  readonly reply: Reply;
}

/** The methods of a Comlink interface. */
type Calls<Contract extends string, Api> = {
  readonly [Method in keyof Api & string as `${Contract}.${Method}`]: Api[Method] extends (...args: infer Args) => Promise<infer Result>
    ? Exchange<Args, Result>
    : never;
};

type OfType<Message extends { readonly type: string }, Type extends string> = Extract<Message, { readonly type: Type }>;

/** The requests of a task and their replies, paired by `type`. An unpaired request or reply gets the type `never`, so the test has no sample for it. */
type TaskRequests = {
  readonly [Type in (PodSyncRequest | PodSyncReply)['type'] as `task.${Type}`]: Exchange<
    OfType<PodSyncRequest, Type>,
    OfType<PodSyncReply, Type>
  >;
};

/** The exports of the sync pool's entry, called through piscina. */
interface PoolTasks {
  readonly 'pool.podSyncTask': Exchange<PodSyncTask, PodSyncTaskReply>;
  readonly 'pool.decodeManifest': Exchange<DecodeManifestTask, DecodeManifestResult>;
  readonly 'pool.syncCgroups': Exchange<SyncCgroupsTask, SyncCgroupsResult>;
  readonly 'pool.moveProcesses': Exchange<MoveProcessesTask, MoveProcessesResult>;
  readonly 'pool.runIPTables': Exchange<RunIPTablesTask, RunIPTablesResult>;
  readonly 'pool.updateRuntimeConfig': Exchange<UpdateRuntimeConfigTask, UpdateRuntimeConfigResult>;
  readonly 'pool.listPodCgroups': Exchange<undefined, ListPodCgroupsResult>;
  readonly 'pool.prepare': Exchange<undefined, undefined>;
}

type HelperRequests = {
  readonly [Operation in keyof HelperOperations as `helper.${Operation}`]: HelperOperations[Operation];
};

/** The request and the reply of each request. */
export type Requests = Calls<'pleg', PlegApi> &
  Calls<'images', ImagesApi> &
  Calls<'stats', StatsApi> &
  Calls<'probes', ProbesApi> &
  Calls<'server', ServerApi> &
  Calls<'health', HealthApi> &
  Calls<'plugins', PluginsApi> &
  Calls<'volumes', VolumesApi> &
  Calls<'main', MainApi & PullTokensApi & StatsMainApi> &
  TaskRequests &
  PoolTasks &
  HelperRequests;

/** The ports in a thread's worker data. */
type Ports<Contract extends string, WorkerData> = {
  [Name in keyof WorkerData & string]: WorkerData[Name] extends MessagePort ? `${Contract}.${Name}` : never;
}[keyof WorkerData & string];

interface PortNotifications {
  readonly 'images.events': ImagesNotification;
  readonly 'probes.results': ProbeNotification;
  readonly 'stats.events': StatsNotification;
}

export type Notifications = { readonly [Type in PodSyncNotification['type'] as `task.${Type}`]: OfType<PodSyncNotification, Type> } & {
  readonly [
    Port in
      | Ports<'images', Omit<ImagesWorkerData, 'main'>>
      | Ports<'probes', ProbesWorkerData>
      | Ports<'stats', Omit<StatsWorkerData, 'main'>>
  ]: PortNotifications[Port];
} & { readonly 'pleg.events': PlegNotification; readonly 'volumes.events': VolumesNotification; readonly 'pool.slotClaimed': SlotClaimed };

export type Commands = { readonly [Type in PodSyncCommand['type'] as `task.${Type}`]: OfType<PodSyncCommand, Type> };

export type MessageName = keyof Requests | keyof Notifications | keyof Commands;

type Routes = { readonly [Name in keyof Requests]: Route<'request'> } & {
  readonly [Name in keyof Notifications]: Route<'notification'>;
} & {
  readonly [Name in keyof Commands]: Route<'command'>;
};

const request = (from: Party, to: Party): Route<'request'> => ({ kind: 'request', from, to });
const notification = (from: Party): Route<'notification'> => ({ kind: 'notification', from, to: 'main' });
const command = (to: Party): Route<'command'> => ({ kind: 'command', from: 'main', to });

export const messages = {
  'pleg.inspectPod': request('main', 'pleg'),
  'pleg.relist': request('main', 'pleg'),
  'pleg.runtimeInfo': request('main', 'pleg'),
  'pleg.close': request('main', 'pleg'),
  'pleg.events': notification('pleg'),

  'images.ensureImage': request('main', 'images'),
  'images.listImages': request('main', 'images'),
  'images.collectImages': request('main', 'images'),
  'images.deleteUnusedImages': request('main', 'images'),
  'images.planImageGc': request('main', 'images'),
  'images.collectContainers': request('main', 'images'),
  'images.removeContainers': request('main', 'images'),
  'images.sampleFilesystems': request('main', 'images'),
  'images.configure': request('main', 'images'),
  'images.close': request('main', 'images'),
  'images.events': notification('images'),
  'main.pullToken': request('images', 'main'),
  'main.volumeStats': request('stats', 'main'),

  'stats.machineInfo': request('main', 'stats'),
  'stats.sampleNow': request('main', 'stats'),
  'stats.runtimeMetrics': request('main', 'stats'),
  'stats.setMemoryThresholds': request('main', 'stats'),
  'stats.close': request('main', 'stats'),
  'stats.events': notification('stats'),

  'probes.setPods': request('main', 'probes'),
  'probes.removePods': request('main', 'probes'),
  'probes.renderMetrics': request('main', 'probes'),
  'probes.close': request('main', 'probes'),
  'probes.results': notification('probes'),

  'health.address': request('main', 'health'),
  'health.resetMetrics': request('main', 'health'),
  'health.close': request('main', 'health'),

  'plugins.getInfo': request('main', 'plugins'),
  'plugins.notifyRegistrationStatus': request('main', 'plugins'),
  'plugins.close': request('main', 'plugins'),

  'volumes.recover': request('main', 'volumes'),
  'volumes.setDriver': request('main', 'volumes'),
  'volumes.driverInfo': request('main', 'volumes'),
  'volumes.removeDriver': request('main', 'volumes'),
  'volumes.publishVolume': request('main', 'volumes'),
  'volumes.publishLocalVolume': request('main', 'volumes'),
  'volumes.checkHostPath': request('main', 'volumes'),
  'volumes.volumeStats': request('main', 'volumes'),
  'volumes.volumeHealth': request('main', 'volumes'),
  'volumes.storageHealth': request('main', 'volumes'),
  'volumes.unpublishVolume': request('main', 'volumes'),
  'volumes.close': request('main', 'volumes'),
  'volumes.events': notification('volumes'),

  'server.addresses': request('main', 'server'),
  'server.setServingCertificate': request('main', 'server'),
  'server.close': request('main', 'server'),
  'main.podListUIDs': request('server', 'main'),
  'main.podListItems': request('server', 'main'),
  'main.allocatedPod': request('server', 'main'),
  'main.imageGcPlan': request('server', 'main'),
  'main.evictionPlan': request('server', 'main'),
  'main.configz': request('server', 'main'),
  'main.flagz': request('server', 'main'),
  'main.reviewToken': request('server', 'main'),
  'main.reviewAccess': request('server', 'main'),
  'main.resolveContainer': request('server', 'main'),
  'main.probeMetrics': request('server', 'main'),
  'main.runtimeMetrics': request('server', 'main'),
  'main.podChanges': request('server', 'main'),
  'main.listPodResources': request('server', 'main'),
  'main.getPodResources': request('server', 'main'),
  'main.allocatableResources': request('server', 'main'),
  'main.resetHealthMetrics': request('server', 'main'),

  'pool.podSyncTask': request('main', 'pod-sync'),
  'pool.decodeManifest': request('main', 'pod-sync'),
  'pool.syncCgroups': request('main', 'pod-sync'),
  'pool.moveProcesses': request('main', 'pod-sync'),
  'pool.runIPTables': request('main', 'pod-sync'),
  'pool.updateRuntimeConfig': request('main', 'pod-sync'),
  'pool.listPodCgroups': request('main', 'pod-sync'),
  'pool.prepare': request('main', 'pod-sync'),
  'pool.slotClaimed': notification('pod-sync'),

  'task.ensureImage': request('pod-sync', 'main'),
  'task.startPermit': request('pod-sync', 'main'),
  'task.podObjects': request('pod-sync', 'main'),
  'task.publishVolume': request('pod-sync', 'main'),
  'task.unpublishVolume': request('pod-sync', 'main'),
  'task.beginRestart': request('pod-sync', 'main'),
  'task.recordActuated': request('pod-sync', 'main'),
  'task.transferPermit': notification('pod-sync'),
  'task.releasePermit': notification('pod-sync'),
  'task.volumesMounted': notification('pod-sync'),
  'task.containersEnded': notification('pod-sync'),
  'task.actuated': notification('pod-sync'),
  'task.containerWaiting': notification('pod-sync'),
  'task.postStartHook': notification('pod-sync'),
  'task.event': notification('pod-sync'),
  'task.phase': notification('pod-sync'),
  'task.stop': command('pod-sync'),
  'task.shrinkGracePeriod': command('pod-sync'),

  'helper.checkHostPath': request('pod-sync', 'helper'),
  'helper.mountFilesystem': request('pod-sync', 'helper'),
  'helper.unmount': request('pod-sync', 'helper'),
  'helper.bindSubpath': request('pod-sync', 'helper'),
  'helper.removeTree': request('pod-sync', 'helper'),
  'helper.changeOwnership': request('pod-sync', 'helper'),
  'helper.readFile': request('pod-sync', 'helper'),
  'helper.statfs': request('pod-sync', 'helper'),
  'helper.inspectVolumeSource': request('volumes', 'helper'),
  'helper.measureTrees': request('stats', 'helper'),
} satisfies Routes;
