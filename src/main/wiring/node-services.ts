/**
 * What is known of this node, wired once the runtime has answered: the machine (by the stats thread), what pods are told of the node
 * and what the Node says; in a cluster its membership.
 */
import { HeartbeatsReader } from '../../shared/state/heartbeats.ts';
import { systemClock as clock } from '../../shared/time/clock.ts';
import type { Cluster } from './cluster.ts';
import { countCgroupVersion } from '../process/constant-metrics.ts';
import type { KubeletContext } from './kubelet-context.ts';
import { LocalNodeStatus, threadErrors, type Node, type ClusterNode } from '../node/index.ts';
import { yieldToEventLoop } from '../../shared/concurrency/yield-to-event-loop.ts';
import { NodeFactsSource } from '../node/node-facts.ts';
import { nodeAllocatable, nodeCapacity, resourceSettings } from '../node/status/node-capacity.ts';
import type { Observers } from './runtime-services.ts';
import type { EventSink } from '../events/index.ts';
import { untilAborted } from '../../shared/concurrency/until-aborted.ts';

export interface NodeServicesOptions extends KubeletContext {
  readonly observers: Observers;
  readonly events: EventSink;
  /** Null: standalone. */
  readonly cluster: Cluster | null;
}

export interface NodeServices {
  /** What pods are told of it. */
  readonly facts: NodeFactsSource;
  /** Null: standalone. */
  readonly membership: ClusterNode | null;
  /** As the API server has it, or else as this kubelet sees it. */
  readonly node: () => Node;
}

/** Rejects with the signal's reason when it aborts first. */
export async function startNodeServices(thisNode: NodeServicesOptions): Promise<NodeServices> {
  const { options, nodeName, threads: first, log, signal, observers, events, cluster } = thisNode;
  const { config, flags, featureGates } = options;
  const { state, host, stats } = first;
  const { runtimeState } = observers;
  countCgroupVersion(host.cgroupVersion);

  const machine = await untilAborted(stats.machineInfo(), signal);

  let membership: ClusterNode | null = null;
  const capacity = nodeCapacity(machine, config);
  const facts = await NodeFactsSource.start({
    nodeName,
    nodeIP: flags.nodeIP,
    capacity,
    allocatable: nodeAllocatable(capacity, resourceSettings(config, flags), machine.hugePages),
    runtimeState,
    registeredHostIPs: () => membership?.hostIPs() ?? [],
    clock,
  });
  void facts.watch(signal);

  const heartbeats = new HeartbeatsReader(state.heartbeats);
  const local = LocalNodeStatus.start({
    nodeName,
    config,
    flags,
    featureGates,
    machine,
    runtimeState,
    listImages: () => observers.images.listImages(),
    healthErrors: () => threadErrors(heartbeats.threads(), clock.monotonic()),
    clock,
    logger: log('node'),
  });
  await yieldToEventLoop();
  membership = cluster?.join(local, events, observers.untilFirstList()) ?? null;
  observers.connect({ onRuntimeChanged: () => membership?.wake() });
  await yieldToEventLoop();
  return { facts, membership, node: () => membership?.node() ?? local.node() };
}
