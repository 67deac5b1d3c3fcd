/** Starts the part that keeps the kubelet's chains in the host's packet filter. */
import { NetworkChains } from '../network-chains/index.ts';
import type { KubeletContext } from './kubelet-context.ts';

export function startNetworkChains({
  clock,
  options,
  threads,
  log,
  shutdown,
}: Pick<KubeletContext, 'clock' | 'options' | 'threads' | 'log' | 'shutdown'>): void {
  const chains = new NetworkChains({ run: (task) => threads.pool.runIPTables(task), clock, logger: log('network-chains') });
  shutdown.register('network-chains', async () => chains.close());
  if (options.config.makeIPTablesUtilChains) chains.start();
}
