/** Starts the part that applies a changed configuration, and hands new values to the parts and threads that keep copies of them. */
import { setVerbosity } from '../../shared/log/live-verbosity.ts';
import { configurationPaths } from '../config/load-valid-configuration.ts';
import { ConfigLoader, ConfigReload, ConfigWatch, type ReloadObserver } from '../config-reload/index.ts';
import { effectiveReservations } from '../config/reservations.ts';
import type { EventSink } from '../events/index.ts';
import { excessiveReservations, resourceSettings } from '../node/index.ts';
import type { Cluster } from './cluster.ts';
import type { KubeletContext } from './kubelet-context.ts';
import { memoryThresholds } from '../eviction/memory-thresholds.ts';
import type { NodeServices } from './node-services.ts';
import type { PodRunner } from './pod-runner.ts';
import type { RuntimeServices } from './runtime-services.ts';
import { liveImagesSettings } from './thread-settings.ts';

export interface ConfigReloadStart extends Pick<KubeletContext, 'clock' | 'options' | 'nodeName' | 'threads' | 'log' | 'shutdown'> {
  readonly events: EventSink;
  readonly cluster: Cluster | null;
  readonly runtime: Pick<RuntimeServices, 'images'>;
  readonly nodeServices: Pick<NodeServices, 'clusterNode' | 'machine'>;
  readonly podRunner: Pick<PodRunner, 'eviction'>;
  /** Sets the handler of SIGHUP. */
  readonly setReloadHandler: (handler: () => void) => void;
  readonly reloadObserver: ReloadObserver;
}

export function startConfigReload(start: ConfigReloadStart): void {
  const { clock, options, nodeName, nodeServices, events, log, shutdown, setReloadHandler, reloadObserver: observer } = start;
  const { live, reloadInputs } = options;
  if (!reloadInputs) return shutdown.register('config-reload', async () => {});
  const logger = log('config-reload');
  const loader = new ConfigLoader(reloadInputs, clock);
  const reload = new ConfigReload({
    live,
    load: () => loader.load(),
    refuse: (wanted) =>
      excessiveReservations(nodeServices.machine.current(), resourceSettings(effectiveReservations(wanted), options.flags)),
    apply: (changed) => applyToCopies(start, changed),
    observer,
    nodeName,
    events,
    clock,
    logger,
  });
  const paths = configurationPaths(reloadInputs.values);
  const watch = new ConfigWatch({ paths, onChange: () => reload.request('file'), clock, logger });
  shutdown.register('config-reload', async () => {
    watch.close();
    reload.close();
  });
  setReloadHandler(() => reload.request('SIGHUP'));
  // The files were read at some time after the start of the process: a change since then may not be known.
  void watch.start(clock.now() - process.uptime() * 1000);
}

/** Passes new values to the parts that keep copies; all others read the configuration anew. A thread that dies meanwhile starts with the new values. */
function applyToCopies(
  { options, threads, log, cluster, runtime, nodeServices, podRunner }: ConfigReloadStart,
  changed: ReadonlySet<string>,
): void {
  const { live, logging } = options;
  const config = live.view;
  const onFailure = (err: unknown) => log('config-reload').warn({ err }, 'A thread gets the new configuration when it starts again');
  if (changed.has('logging.verbosity') && logging.live) setVerbosity(logging.live, live.running.logging.verbosity);
  cluster?.setRateLimits(config);
  runtime.images.configure(liveImagesSettings(config)).catch(onFailure);
  threads.stats.setMemoryThresholds(memoryThresholds(config)).catch(onFailure);
  podRunner.eviction.check();
  // The allocatable memory depends on the eviction thresholds.
  nodeServices.clusterNode?.wake();
}
