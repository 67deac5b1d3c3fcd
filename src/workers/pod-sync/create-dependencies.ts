/** Creates the dependencies of a pool thread. All tasks of the thread share one connection to the runtime and one helper process. */
import { CriClient } from '../../shared/cri/client.ts';
import { countRuntimeOperation } from '../../shared/cri/count-calls.ts';
import type { PodSyncSettings } from '../../shared/contracts/pod-sync/worker-data.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { systemClock } from '../../shared/time/clock.ts';
import { tracingStarted } from '../../shared/tracing/index.ts';
import { CgroupTree, createCgroupManager, PodCgroups } from './cgroups/index.ts';
import { ProcessMover } from './node/host-processes.ts';
import type { PodSyncDependencies } from './pod/dependencies.ts';
import { HelperClient } from '../../shared/helper-client/index.ts';
import { LargeWorkLimiter } from './pod/large-work.ts';
import { httpGet } from './pod/hook-request.ts';
import { createPodRuntime } from './pod/pod-runtime.ts';
import { HostInfoReader } from './pod/runtime-config/index.ts';
import { PodVolumes } from './pod/volumes/index.ts';

/** The dependencies of all tasks of a thread: of those that belong to a pod, and of those that work on the node. */
export interface SyncThreadDependencies extends PodSyncDependencies {
  readonly hostProcesses: ProcessMover;
}

/** Starts connecting to the runtime, so that the first call does not have to wait for the connection. */
export async function createDependencies(settings: PodSyncSettings, logger: Logger): Promise<SyncThreadDependencies> {
  const clock = systemClock;
  // The calls of the first task have spans, too.
  await tracingStarted();
  const connect = (endpoint: string) => new CriClient({ endpoint, onCall: countRuntimeOperation });
  const client = connect(settings.runtimeEndpoint);
  client.connect();
  const images = settings.imageEndpoint === settings.runtimeEndpoint ? client : connect(settings.imageEndpoint);
  // Reads the host's constants without resolv.conf: an unreadable resolv.conf must not prevent the termination of pods.
  const { hugePageSizes, selinuxEnabled } = await new HostInfoReader({ ...settings, resolvConf: '' }).read();
  const { rootDir, clusterDomain, featureGates, cgroupFsRoot, cgroupVersion } = settings;
  const tree = new CgroupTree({ root: cgroupFsRoot, version: cgroupVersion, clock, logger });
  const manager = await createCgroupManager(settings.cgroupDriver, { tree, version: cgroupVersion, hugePageSizes, clock, logger });
  return {
    settings,
    runtime: createPodRuntime(client.runtime, images.images, settings.runtimeRequestTimeoutMs),
    cgroups: new PodCgroups({ settings, tree, manager, hugePageSizes, clock, logger }),
    hostProcesses: new ProcessMover({ tree }),
    volumes: new PodVolumes({ rootDir, clusterDomain, featureGates, helper: new HelperClient({ logger }), logger, selinuxEnabled }),
    hostInfo: new HostInfoReader(settings),
    httpGet,
    largeWork: new LargeWorkLimiter(),
    clock,
    logger,
  };
}
