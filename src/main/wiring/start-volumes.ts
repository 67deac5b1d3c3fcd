/** Starts the parts for volumes that outlive pods: the registration of plugins, and the volume manager. The threads behind them start with the first driver or claim. */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { Listeners } from '../../shared/concurrency/listeners.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { PluginManager, type PluginHandler } from '../plugins/index.ts';
import { PluginsThread } from '../threads/plugins-thread.ts';
import { VolumesThread } from '../threads/volumes-thread.ts';
import { CsiNodeWriter, CsiRegistration, VolumeManager, VolumeObjects } from '../volumes/index.ts';
import type { Cluster } from './cluster.ts';
import type { KubeletContext } from './kubelet-context.ts';

export interface VolumesStart extends KubeletContext {
  readonly cluster: Cluster | null;
}

export interface Volumes {
  readonly volumeManager: VolumeManager;
  /** Called with the pod for which a volume was published, or failed. */
  readonly volumeChanges: Listeners<[uid: PodUID]>;
}

export async function startVolumes(start: VolumesStart): Promise<Volumes> {
  const { clock, options, nodeName, threads, log, shutdown, podLifecycle, cluster } = start;
  // Drivers record their mounts under the path without symlinks.
  const rootDir = await realpath(options.flags.rootDirectory);
  const volumeChanges = new Listeners<[uid: PodUID]>();
  const { state } = threads;
  const thread = new VolumesThread({ state, logger: log('volumes'), settings: { rootDir, nodeName } });
  const calls = new PluginsThread({ state, logger: log('plugins') });
  const volumeManager = new VolumeManager({
    objects: cluster ? new VolumeObjects(cluster.client, clock) : undefined,
    thread,
    wake: (uid) => volumeChanges.notify(uid),
    clock,
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
  podLifecycle.register({
    name: 'volume-manager',
    terminated: (uid) => volumeManager.end(uid),
    finished: (uid) => volumeManager.forget(uid),
    forgotten: (uid) => volumeManager.forget(uid),
  });
  shutdown.register('plugins', async () => {
    await plugins.close();
    await calls.close();
  });
  shutdown.register('volumes', () => thread.close());
  return { volumeManager, volumeChanges };
}
