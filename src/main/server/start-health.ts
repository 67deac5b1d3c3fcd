/** Starts the health thread, unless the healthz port is disabled. */
import type { Logger } from '../../shared/log/logger.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import { HealthThread } from '../threads/health-thread.ts';
import type { SharedThreadState } from '../threads/shared-thread-state.ts';
import { listenAddress } from './server-settings.ts';

export interface HealthStart {
  readonly config: Pick<KubeletConfiguration, 'healthzBindAddress' | 'healthzPort'>;
  readonly state: SharedThreadState;
  readonly logger: Logger;
}

export function startHealth({ config, state, logger }: HealthStart): HealthThread | null {
  const listen = listenAddress(config.healthzBindAddress, config.healthzPort);
  return listen && HealthThread.start({ state, logger, settings: { listen } });
}
