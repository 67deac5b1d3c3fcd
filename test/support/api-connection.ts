/** The kubelet's own API client, for tests of what is built on it: with the rates of a kubelet's configuration, unless a test says others. */
import { createApiClient, type ApiClientOptions, type ApiConnection } from '../../src/main/api/index.ts';
import { systemClock } from '../../src/shared/time/clock.ts';
import { aLogger } from './logger.ts';

/** Whoever connects closes. */
export function connectTo(kubeconfigPath: string, over: Partial<ApiClientOptions> = {}): Promise<ApiConnection> {
  return createApiClient({
    kubeconfigPath,
    kubeAPIQPS: 50,
    kubeAPIBurst: 100,
    eventRecordQPS: 50,
    eventBurst: 100,
    nodeStatusUpdateFrequencyMs: 10_000,
    nodeLeaseDurationMs: 40_000,
    clock: systemClock,
    logger: aLogger().logger,
    ...over,
  });
}
