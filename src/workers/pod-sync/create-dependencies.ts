/** Wires what a thread of the pool needs for its tasks: one connection to the runtime, one helper, however many tasks. */
import { CriClient } from '../../shared/cri/client.ts';
import { countRuntimeOperation } from '../../shared/cri/count-calls.ts';
import type { PodSyncSettings } from '../../shared/contracts/pod-sync/worker-data.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { systemClock } from '../../shared/time/clock.ts';
import { CgroupTree, PodCgroups } from './cgroups/index.ts';
import type { PodSyncDependencies } from './dependencies.ts';
import { HelperClient } from './helper/index.ts';
import { httpGet } from './hooks/index.ts';
import { createPodRuntime } from './pod-runtime.ts';
import { HostInfoReader } from './runtime-config/index.ts';
import { PodVolumes } from './volumes/index.ts';

/** The connection to the runtime is being made when it resolves: the first call need not wait for it. */
export async function createDependencies(settings: PodSyncSettings, logger: Logger): Promise<PodSyncDependencies> {
  const clock = systemClock;
  const connect = (endpoint: string) => new CriClient({ endpoint, onCall: countRuntimeOperation });
  const client = connect(settings.runtimeEndpoint);
  client.connect();
  const images = settings.imageEndpoint === settings.runtimeEndpoint ? client : connect(settings.imageEndpoint);
  // A resolv.conf that cannot be read must not keep pods from being ended: it is left out of what lasts.
  const { hugePageSizes, selinuxEnabled } = await new HostInfoReader({ ...settings, resolvConf: '' }).read();
  const { rootDir, clusterDomain, featureGates, cgroupFsRoot, cgroupVersion } = settings;
  const tree = new CgroupTree({ root: cgroupFsRoot, version: cgroupVersion, clock, logger });
  return {
    settings,
    runtime: createPodRuntime(client.runtime, images.images, settings.runtimeRequestTimeoutMs),
    cgroups: new PodCgroups({ settings, tree, hugePageSizes, clock, logger }),
    volumes: new PodVolumes({ rootDir, clusterDomain, featureGates, helper: new HelperClient({ logger }), logger, selinuxEnabled }),
    hostInfo: new HostInfoReader(settings),
    httpGet,
    clock,
    logger,
  };
}
