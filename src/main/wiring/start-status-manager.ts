/** Starts the status manager, the only writer of pod statuses. */
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { ApiClient, ObjectReader } from '../api/index.ts';
import { firstStatusDelayMs } from '../pods/first-seen.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import { StatusManager } from '../pods/status/index.ts';
import type { PodTimelines } from '../timeline/index.ts';
import type { KubeletContext } from './kubelet-context.ts';

export interface StatusManagerStart extends Pick<KubeletContext, 'clock' | 'random' | 'log' | 'shutdown' | 'signal' | 'podLifecycle'> {
  readonly client: ApiClient;
  readonly podManager: PodManager;
  /** The API server's pods. */
  readonly apiPods: Pick<ObjectReader<Pod>, 'get'>;
  readonly timelines: PodTimelines;
}

export function startStatusManager(start: StatusManagerStart): StatusManager {
  const { clock, random, log, shutdown, signal, podLifecycle, client, podManager, apiPods, timelines } = start;
  const statusManager = new StatusManager({
    client,
    apiPod: (uid) => apiPods.get(uid),
    podManager,
    firstStatusDelayMs,
    timelines,
    clock,
    random,
    logger: log('status-manager'),
  });
  podLifecycle.register({
    name: 'status-manager',
    forgotten: (uid) => statusManager.forget(uid),
    keepOnly: (known) => statusManager.keepOnly(known),
  });
  shutdown.register('status-manager', () => statusManager.close());
  void statusManager.run(signal);
  return statusManager;
}
