/** Connects the kubelet's API client for tests, by default with the rate limits of a kubelet's default configuration. */
import { createApiClient, type ApiClientOptions, type ApiConnection } from '../../../src/main/api/index.ts';
import { systemClock } from '../../../src/shared/time/clock.ts';
import { aLogger } from '../logger.ts';

/** The caller closes the connection. */
export function connectTo(kubeconfigPath: string, over: Partial<ApiClientOptions> = {}): Promise<ApiConnection> {
  return createApiClient({
    kubeconfigPath,
    rateLimits: { kubeAPIQPS: 50, kubeAPIBurst: 100, eventRecordQPS: 50, eventBurst: 100 },
    nodeStatusUpdateFrequencyMs: 10_000,
    nodeLeaseDurationMs: 40_000,
    clock: systemClock,
    logger: aLogger().logger,
    ...over,
  });
}
