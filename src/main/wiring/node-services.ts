/**
 * Starts the parts that know this node, once the runtime has answered: the machine's facts, the node's facts for pods, and in a cluster the
 * Node object.
 */
import type { MachineInfo } from '../../shared/contracts/stats.ts';
import { HeartbeatsReader } from '../../shared/state/heartbeats.ts';
import { untilAborted } from '../../shared/concurrency/until-aborted.ts';
import { yieldToEventLoop } from '../../shared/concurrency/yield-to-event-loop.ts';
import type { Cluster } from './cluster.ts';
import { setCgroupVersionMetric } from '../process/constant-metrics.ts';
import type { KubeletContext } from './kubelet-context.ts';
import {
  cpuHardcapErrors,
  excessiveReservations,
  LocalNodeStatus,
  MachineWatch,
  nodeAllocatable,
  nodeCapacity,
  NodeInfoSource,
  PodCIDRSync,
  resourceSettings,
  threadErrors,
  watchRuntimeSocket,
  type ClusterNode,
  type Node,
} from '../node/index.ts';
import { NodePressure } from '../eviction/index.ts';
import { NodeShutdownState } from '../node-shutdown/index.ts';
import { CsiNodeInitialization, CsiNodeWriter, LeftMountsReader, VolumesInUse } from '../volumes/index.ts';
import type { RuntimeServices } from './runtime-services.ts';
import type { EventSink } from '../events/index.ts';

export interface NodeServicesOptions extends KubeletContext {
  readonly runtime: RuntimeServices;
  readonly events: EventSink;
  /** Null when standalone. */
  readonly cluster: Cluster | null;
  /** Why the host could not be set up for pods; null when it is set up. */
  readonly setupProblem: string | null;
  /** Waits until the runtime's pods are known. Rejects with the signal's reason. */
  readonly untilPodsKnown: () => Promise<void>;
  /** Resolves when the server listens, or has failed to and tries again. */
  readonly serverListens: Promise<unknown>;
}

export interface NodeServices {
  readonly machine: MachineWatch;
  readonly nodeInfo: NodeInfoSource;
  /** Null when standalone. */
  readonly clusterNode: ClusterNode | null;
  /** The eviction manager sets it, once it runs. */
  readonly pressure: NodePressure;
  /** The shutdown manager sets it. */
  readonly shutdown: NodeShutdownState;
  /** Volumes are listed when `startVolumes` has read their records. */
  readonly volumesInUse: VolumesInUse;
  /** Undefined when standalone. */
  readonly csiNode: CsiNodeWriter | undefined;
  /** The Node of the API server; before it is known, and standalone, as this kubelet would register it. */
  readonly node: () => Node;
}

/** Rejects with the signal's reason when it aborts first, and when more is reserved than the machine has. */
export async function startNodeServices(services: NodeServicesOptions): Promise<NodeServices> {
  const { clock, random, options, nodeName, threads, log, signal, runtime, events, cluster, setupProblem, untilPodsKnown, serverListens } =
    services;
  const { live, flags, featureGates } = options;
  const config = live.view;
  const { state, host, stats } = threads;
  const { runtimeState, images } = runtime;
  setCgroupVersionMetric(host.cgroupVersion);
  let isServing = false;
  // The handlers are attached before the first await: the promise rejects when the kubelet stops meanwhile.
  void serverListens.then(() => (isServing = true)).catch(() => {});

  const machine = await untilAborted(MachineWatch.start({ read: () => stats.machineInfo(), clock, logger: log('machine') }), signal);
  const excess = excessiveReservations(machine.current(), resourceSettings(config, flags));
  if (excess !== null) throw new Error(excess);
  void machine.watch(signal);
  const pressure = new NodePressure();
  const shutdown = new NodeShutdownState();
  const heartbeats = new HeartbeatsReader(state.heartbeats);
  const volumesInUse = new VolumesInUse();
  const csiNode = cluster && new CsiNodeWriter({ client: cluster.client, nodeName });
  const csiInitialization = csiNode && new CsiNodeInitialization({ csiNode, clock, random, logger: log('volumes') });
  const leftMounts = new LeftMountsReader({ rootDir: flags.rootDirectory, logger: log('node') });
  const local = LocalNodeStatus.start({
    nodeName,
    config,
    flags,
    featureGates,
    machine: () => machine.current(),
    runtimeState,
    listImages: () => images.listImages(),
    pressures: () => ({ memory: pressure.has('MemoryPressure'), disk: pressure.has('DiskPressure'), pid: pressure.has('PIDPressure') }),
    shutdownError: () => shutdown.problem,
    volumesInUse: (status) => volumesInUse.list(status, leftMounts.current),
    refreshVolumes: (listed) => leftMounts.refresh(listed.filter((name) => !volumesInUse.isUsed(name))),
    storageErrors: () => (csiInitialization?.problem ? [csiInitialization.problem] : []),
    setupErrors: setupProblem === null ? [] : [setupProblem],
    softRequirementErrors: cpuHardcapErrors(host.cgroupVersion),
    healthErrors: () => [...threadErrors(heartbeats.threads(), clock.monotonic()), ...(isServing ? [] : ['the server has yet to listen'])],
    clock,
    logger: log('node'),
  });
  // The first run of each part's code takes about 10 ms. Other work of the thread runs in between.
  await yieldToEventLoop();
  const csiInitialized = Promise.withResolvers<void>();
  const clusterNode =
    cluster?.startClusterNode({
      local,
      events,
      mayReport: Promise.all([untilPodsKnown(), serverListens, csiInitialized.promise]),
      onReported: ({ status = {} }) => volumesInUse.reported(status),
    }) ?? null;
  if (clusterNode) {
    runtimeState.onChanged(() => clusterNode.wake());
    machine.onChanged(() => clusterNode.wake());
    pressure.onChanged(() => clusterNode.wake());
    shutdown.onChanged(() => clusterNode.wake());
    const initialize = async () => csiInitialization?.run(() => clusterNode.wake(), signal);
    void clusterNode.registered
      .then(initialize)
      .then(() => csiInitialized.resolve())
      .catch(() => {});
    volumesInUse.onChanged(() => clusterNode.wake());
    clusterNode.store.onChange(() => volumesInUse.onNodeChange(clusterNode.store.get()?.status ?? {}));
  }
  startPodCIDRSync(services, clusterNode);
  await yieldToEventLoop();

  const toNodeResources = (info: MachineInfo) => {
    const capacity = nodeCapacity(info, config);
    return { capacity, allocatable: nodeAllocatable(capacity, resourceSettings(config, flags), info.hugePages) };
  };
  await local.untilNetworkKnown();
  const nodeInfo = new NodeInfoSource({
    nodeName,
    local,
    resources: () => toNodeResources(machine.current()),
    runtimeState,
    ...(clusterNode && { registeredHostIPs: () => clusterNode.hostIPs() }),
    clock,
  });
  void nodeInfo.watch(signal);
  return {
    machine,
    nodeInfo,
    clusterNode,
    pressure,
    shutdown,
    volumesInUse,
    csiNode: csiNode ?? undefined,
    node: () => clusterNode?.node() ?? local.node(),
  };
}

function startPodCIDRSync({ clock, options, threads, log, signal, runtime }: NodeServicesOptions, clusterNode: ClusterNode | null): void {
  const update = (podCIDR: string) => threads.pool.updateRuntimeConfig({ podCIDR });
  const podCIDR = new PodCIDRSync({ update, clock, logger: log('pod-cidr'), signal });
  podCIDR.set(options.config.podCIDR);
  const follow = () => podCIDR.set(clusterNode?.store.get()?.spec?.podCIDRs?.join(',') ?? '');
  clusterNode?.store.onChange(follow);
  follow();
  const onReplaced = () => podCIDR.resend();
  runtime.runtimeState.onRecovered(onReplaced);
  void watchRuntimeSocket({ endpoint: options.config.containerRuntimeEndpoint, onReplaced, clock }, signal);
}
