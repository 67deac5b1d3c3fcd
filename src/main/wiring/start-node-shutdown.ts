/** Starts the shutdown manager when pods get time before a shutdown of the node. */
import type { EventSink } from '../events/index.ts';
import { FinishWaits, ShutdownManager, ShutdownRecord, shutdownPeriods } from '../node-shutdown/index.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import type { PodWorkers } from '../pods/workers/index.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { NodeServices } from './node-services.ts';
import type { PodStates } from '../pods/lifecycle/pod-states.ts';

export interface NodeShutdownStart extends Pick<KubeletContext, 'clock' | 'options' | 'nodeName' | 'log' | 'shutdown' | 'podLifecycle'> {
  readonly nodeServices: Pick<NodeServices, 'shutdown' | 'volumesInUse'>;
  readonly workers: Pick<PodWorkers, 'kill'>;
  readonly podStates: PodStates;
  readonly activePods: Pick<ActivePods, 'list'>;
  readonly events: EventSink;
}

export function startNodeShutdown(start: NodeShutdownStart): void {
  const { clock, options, nodeName, log, shutdown, workers, activePods, events } = start;
  const { shutdown: state, volumesInUse } = start.nodeServices;
  const { config, flags, featureGates } = options;
  const logger = log('node-shutdown');
  const periods = shutdownPeriods(config, featureGates);
  const waits = new FinishWaits();
  start.podLifecycle.register({ name: 'node-shutdown', finished: (uid) => waits.finished(uid) });
  const stop = new AbortController();
  let running = Promise.resolve();
  shutdown.register('node-shutdown', () => {
    stop.abort();
    return running;
  });
  if (periods.length > 0) {
    logger.info({ shutdownGracePeriodByPodPriority: periods }, 'Creating node shutdown manager');
    const showsTimes = featureGates.enabled('GracefulNodeShutdownBasedOnPodPriority');
    const manager = new ShutdownManager({
      periods,
      // Loaded here: D-Bus costs memory on every node, and only some wait for their shutdown.
      openSession: async (onPrepare) => (await import('../node-shutdown/logind-session.ts')).openLogindSession(onPrepare),
      activePods: () => activePods.list(),
      kill: (uid, killOptions) => workers.kill(uid, killOptions),
      untilFinished: (uid) => (start.podStates.isFinished(uid) ? Promise.resolve() : waits.until(uid)),
      untilVolumesReleased: (signal) => volumesInUse.untilUnusedReleased(signal),
      state,
      record: showsTimes ? new ShutdownRecord(flags.rootDirectory, logger) : null,
      nodeName,
      events,
      clock,
      logger,
    });
    running = manager.run(stop.signal);
  }
}
