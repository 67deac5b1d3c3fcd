/** Starts the shutdown manager when pods get time before a shutdown of the node. */
import type { AllocatedPod } from '../allocation/index.ts';
import type { EventSink } from '../events/index.ts';
import { FinishWaits, ShutdownManager, ShutdownRecord, shutdownPeriods, type NodeShutdownState } from '../node-shutdown/index.ts';
import type { PodWorkers } from '../pods/workers/index.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { PodStates } from '../pods/lifecycle/pod-states.ts';

export interface NodeShutdownStart extends Pick<KubeletContext, 'clock' | 'options' | 'nodeName' | 'log' | 'shutdown' | 'podLifecycle'> {
  readonly state: NodeShutdownState;
  readonly workers: Pick<PodWorkers, 'kill'>;
  readonly podStates: PodStates;
  readonly activePods: () => readonly AllocatedPod[];
  readonly events: EventSink;
}

export function startNodeShutdown(start: NodeShutdownStart): void {
  const { clock, options, nodeName, log, shutdown, state, workers, activePods, events } = start;
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
      activePods,
      kill: (uid, killOptions) => workers.kill(uid, killOptions),
      untilFinished: (uid) => (start.podStates.isFinished(uid) ? Promise.resolve() : waits.until(uid)),
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
