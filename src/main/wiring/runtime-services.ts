/**
 * Starts the parts that know the container runtime: the runtime's state and the images thread, and applies the results of the probes thread. The
 * kubelet's start does not wait for these threads; wiring/early-threads.ts starts the others.
 */
import type { PullTokensApi } from '../../shared/contracts/credential-providers.ts';
import type { PullWait } from '../../shared/contracts/images.ts';
import type { ProbeResult } from '../../shared/contracts/probes.ts';
import { setRuntimeCgroupDriver } from '../../shared/cgroups/runtime-cgroup-driver.ts';
import { untilAborted } from '../../shared/concurrency/until-aborted.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { ProbeManager } from '../probes/index.ts';
import { RuntimeState } from '../node/index.ts';
import type { EventSink } from '../events/index.ts';
import { imagesSettings } from './thread-settings.ts';
import { ImagesThread } from '../threads/images-thread.ts';
import type { ProbesThread } from '../threads/probes-thread.ts';

export interface RuntimeServicesOptions extends KubeletContext {
  readonly events: EventSink;
  readonly probesThread: ProbesThread;
  readonly probes: ProbeManager;
  readonly onProbeResults: (results: readonly ProbeResult[]) => void;
  readonly onPullWait: (wait: PullWait) => void;
  readonly pullToken: PullTokensApi['pullToken'];
}

export interface RuntimeServices {
  readonly runtimeState: RuntimeState;
  readonly images: ImagesThread;
}

/** Returns before the runtime has answered: the threads load meanwhile. */
export function startRuntimeServices({
  clock,
  options,
  threads,
  log,
  shutdown,
  events,
  probesThread,
  probes,
  onProbeResults,
  onPullWait,
  pullToken,
}: RuntimeServicesOptions): RuntimeServices {
  const { state, snapshot, usage, pleg } = threads;
  const images = ImagesThread.start({
    state,
    logger: log('images'),
    settings: imagesSettings(options, { snapshot, usage }),
    onEvent: (event) => events.record(event),
    onPullWait,
    pullToken,
  });
  shutdown.register('images', () => images.close());
  probesThread.notifications.add(({ results, events: probeEvents }) => {
    // The status that the events are about comes first.
    onProbeResults(results);
    probes.recordEvents(probeEvents, events);
  });
  const runtimeState = new RuntimeState({ fetchInfo: () => pleg.runtimeInfo(), clock, logger: log('runtime-state') });
  return { runtimeState, images };
}

/**
 * Waits for the runtime's first answer, however long it takes, and watches the runtime from then on. Writes the cgroup driver, which the
 * threads need for their first task. Rejects with the signal's reason.
 */
export async function untilRuntimeAnswers({ runtimeState }: RuntimeServices, { threads, signal, options }: KubeletContext): Promise<void> {
  const info = await untilAborted(runtimeState.untilFirstStatus(signal), signal);
  void runtimeState.watch(signal);
  setRuntimeCgroupDriver(threads.state.runtimeCgroupDriver, info.cgroupDriver);
  if (info.cgroupDriver !== null) options.live.setDetected({ cgroupDriver: info.cgroupDriver });
  threads.pool.prepare();
}
