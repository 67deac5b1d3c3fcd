/** Checks the host once at start and records the warnings of node/host/host-warnings.ts as events about the node. */
import { supportsNoswap } from '../../../shared/linux/noswap.ts';
import type { KubeletConfiguration } from '../../config/kubelet-configuration.ts';
import { swapAreas } from '../../process/host-settings.ts';
import { hostWarnings } from './host-warnings.ts';
import { resolvConfProblem } from './resolv-conf-limits.ts';
import type { EventSink } from '../../events/index.ts';

export interface HostToCheck {
  readonly nodeName: string;
  readonly config: Pick<KubeletConfiguration, 'resolvConf' | 'clusterDomain'>;
  readonly cgroupVersion: 1 | 2;
  readonly setupProblem: string | null;
}

/** Never rejects. */
export async function recordHostWarnings(events: EventSink, { nodeName, config, cgroupVersion, setupProblem }: HostToCheck): Promise<void> {
  const traits = {
    cgroupVersion,
    setupProblem,
    isSwapOn: swapAreas().length > 0,
    supportsNoswap: supportsNoswap(),
    resolvConfProblem: resolvConfProblem(config.resolvConf, config.clusterDomain),
  };
  for (const warning of hostWarnings(nodeName, traits)) events.record(warning);
}
