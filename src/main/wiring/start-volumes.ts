/** Starts the parts for volumes that outlive pods: the registration of plugins, and the volume manager. The threads behind them start with the first driver or claim. */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { TokenRef } from '../../shared/contracts/pod-objects.ts';
import type { PodObjectManager } from '../objects/index.ts';
import { PluginManager, type PluginHandler } from '../plugins/index.ts';
import { PluginsThread } from '../threads/plugins-thread.ts';
import { ClaimedVolumesWriter } from '../../shared/state/claimed-volumes-table.ts';
import { VolumesThread } from '../threads/volumes-thread.ts';
import { AllocatableUpdates, CsiRegistration, hasVolumeRecords, VolumeObjects } from '../volumes/index.ts';
import type { Cluster } from './cluster.ts';
import { createVolumeManager, type Volumes } from './create-volume-manager.ts';
import type { EventSink } from '../events/index.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { NodeServices } from './node-services.ts';
import { startVolumeHealth, type VolumeHealthStart } from './start-volume-health.ts';

export interface VolumesStart extends KubeletContext, Pick<VolumeHealthStart, 'podManager' | 'statuses'> {
  readonly cluster: Cluster | null;
  readonly nodeServices: Pick<NodeServices, 'node' | 'clusterNode' | 'volumesInUse' | 'csiNode'>;
  readonly events: EventSink;
  /** Undefined when standalone. */
  readonly podObjects: PodObjectManager | undefined;
}

export async function startVolumes(start: VolumesStart): Promise<Volumes> {
  const { clock, options, nodeName, threads, log, shutdown, podLifecycle, cluster, nodeServices, events, podObjects } = start;
  const { clusterNode, volumesInUse, csiNode } = nodeServices;
  // CSI drivers record their mounts under the path without symlinks.
  const rootDir = await realpath(options.flags.rootDirectory);
  const { state } = threads;
  const thread = new VolumesThread({
    state,
    logger: log('volumes'),
    settings: { rootDir, nodeName },
    onNotification: (notification) => {
      if (notification.type === 'slowGroupChange') volumeManager.reportSlowGroupChange(notification);
      else volumesInUse.receive(notification);
    },
  });
  threads.stats.setVolumeStats((request) => thread.volumeStats(request));
  const calls = new PluginsThread({ state, logger: log('plugins') });
  const getToken = async (ref: TokenRef) => {
    if (!podObjects) throw new Error('a standalone kubelet has no tokens');
    return podObjects.volumeToken(ref);
  };
  const nodeLabels = () => nodeServices.node().metadata.labels ?? {};
  const claimedVolumes = new ClaimedVolumesWriter(threads.claimedVolumes);
  const objects = cluster ? new VolumeObjects(cluster.client, clock) : undefined;
  const allocatable =
    cluster &&
    csiNode &&
    new AllocatableUpdates({
      client: cluster.client,
      readInfo: (driver) => thread.driverInfo(driver),
      csiNode,
      clock,
      logger: log('volumes'),
    });
  const { volumeManager, volumeChanges, volumeRejections, attachments } = createVolumeManager({
    clock,
    podLifecycle,
    objects,
    thread,
    attachments: objects && {
      volumesInUse,
      nodeStatus: () => clusterNode?.store.get()?.status ?? null,
      attachment: (name) => objects.attachment(name),
      onExhausted: async (driver) => (await allocatable?.updateExhausted(driver)) ?? false,
      nodeName,
      controllerAttaches: options.config.enableControllerAttachDetach,
    },
    getToken,
    nodeLabels,
    events,
    claimedVolumes,
  });
  const volumes = () => volumeManager.claimedCsiVolumes();
  const health = startVolumeHealth({ ...start, thread, volumes, csiNode });
  clusterNode?.store.onChange(() => attachments?.onNodeChange());
  if (!(await hasVolumeRecords(rootDir))) volumesInUse.setEmpty();
  else
    thread
      .recover()
      .catch((err: unknown) => log('volumes').error({ err }, 'What volumes are on this node is not known: the Node keeps those in use'));
  const csi = new CsiRegistration({
    thread,
    csiNode,
    onRegistered: () => volumeManager.retryUnpublished(),
    onInstalled: (name) => {
      allocatable?.add(name);
      health?.add(name);
    },
    onUninstalled: (name) => {
      allocatable?.remove(name);
      health?.remove(name);
    },
    logger: log('volumes'),
  });
  const plugins = new PluginManager({
    folder: join(rootDir, 'plugins_registry'),
    handlers: new Map<string, PluginHandler>([['CSIPlugin', csi]]),
    calls,
    clock,
    logger: log('plugins'),
  });
  shutdown.register('plugins', async () => {
    await plugins.close();
    await calls.close();
  });
  shutdown.register('volumes', async () => {
    health?.close();
    await allocatable?.close();
    await thread.close();
  });
  return { volumeManager, volumeChanges, volumeRejections, attachments };
}
