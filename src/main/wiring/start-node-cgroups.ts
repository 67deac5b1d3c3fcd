/** Starts the parts that set the node's cgroups and move the host's processes. */
import type { EventSink } from '../events/index.ts';
import { HostProcesses, NodeCgroups } from '../node-cgroups/index.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { NodeServices } from './node-services.ts';

export interface NodeCgroupsStart extends Pick<
  KubeletContext,
  'clock' | 'options' | 'nodeName' | 'threads' | 'log' | 'shutdown' | 'podLifecycle'
> {
  readonly nodeServices: Pick<NodeServices, 'machine'>;
  readonly activePods: Pick<ActivePods, 'list'>;
  readonly events: EventSink;
}

export function startNodeCgroups(start: NodeCgroupsStart): void {
  const { clock, options, nodeName, threads, log, shutdown, podLifecycle, nodeServices, activePods, events } = start;
  const { config, featureGates } = options;
  const { host, pool } = threads;
  const { machine } = nodeServices;
  const nodeCgroups = new NodeCgroups({
    config,
    featureGates,
    cgroupVersion: host.cgroupVersion,
    machine: () => machine.current(),
    activePods: () => activePods.list(),
    syncCgroups: (task) => pool.syncCgroups(task),
    nodeName,
    events,
    clock,
    logger: log('node-cgroups'),
  });
  machine.onChanged(() => nodeCgroups.onMachineChanged());
  podLifecycle.register({
    name: 'node-cgroups',
    finished: () => nodeCgroups.onPodsChanged(),
    updateHandled: () => nodeCgroups.onPodsChanged(),
  });
  nodeCgroups.start();
  const hostProcesses = new HostProcesses({
    config,
    moveProcesses: (task) => pool.moveProcesses(task),
    clock,
    logger: log('host-processes'),
  });
  hostProcesses.start();
  shutdown.register('node-cgroups', async () => {
    nodeCgroups.close();
    hostProcesses.close();
  });
}
