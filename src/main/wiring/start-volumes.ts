/** Starts the parts for volumes that outlive pods: the registration of plugins, and the volume manager. The threads behind them start with the first driver or claim. */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { TokenRef } from '../../shared/contracts/pod-objects.ts';
import type { PodObjectManager } from '../objects/index.ts';
import { PluginManager, type PluginHandler } from '../plugins/index.ts';
import { PluginsThread } from '../threads/plugins-thread.ts';
import { ClaimedVolumesWriter } from '../../shared/state/claimed-volumes-table.ts';
import { VolumesThread } from '../threads/volumes-thread.ts';
import { CsiNodeWriter, CsiRegistration, VolumeObjects } from '../volumes/index.ts';
import type { Cluster } from './cluster.ts';
import type { NodeServices } from './node-services.ts';
import { createVolumeManager, type Volumes } from './create-volume-manager.ts';
import type { EventSink } from '../events/index.ts';
import type { KubeletContext } from './kubelet-context.ts';

export interface VolumesStart extends KubeletContext {
  readonly cluster: Cluster | null;
  readonly nodeServices: Pick<NodeServices, 'node'>;
  readonly events: EventSink;
  /** Undefined when standalone. */
  readonly podObjects: PodObjectManager | undefined;
}

export async function startVolumes(start: VolumesStart): Promise<Volumes> {
  const { clock, options, nodeName, threads, log, shutdown, podLifecycle, cluster, nodeServices, events, podObjects } = start;
  // Drivers record their mounts under the path without symlinks.
  const rootDir = await realpath(options.flags.rootDirectory);
  const { state } = threads;
  const thread = new VolumesThread({ state, logger: log('volumes'), settings: { rootDir, nodeName } });
  const calls = new PluginsThread({ state, logger: log('plugins') });
  const getToken = async (ref: TokenRef) => {
    if (!podObjects) throw new Error('a standalone kubelet has no tokens');
    return podObjects.volumeToken(ref);
  };
  const nodeLabels = () => nodeServices.node().metadata.labels ?? {};
  const claimedVolumes = new ClaimedVolumesWriter(threads.claimedVolumes);
  const objects = cluster ? new VolumeObjects(cluster.client, clock) : undefined;
  const { volumeManager, volumeChanges } = createVolumeManager({
    clock,
    podLifecycle,
    objects,
    thread,
    getToken,
    nodeLabels,
    events,
    claimedVolumes,
  });
  const csi = new CsiRegistration({
    thread,
    csiNode: cluster ? new CsiNodeWriter({ client: cluster.client, nodeName }) : undefined,
    onRegistered: () => volumeManager.retryUnpublished(),
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
  shutdown.register('volumes', () => thread.close());
  return { volumeManager, volumeChanges };
}
