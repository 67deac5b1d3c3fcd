/** The inputs of a pod's teardown. The pod's spec may be unknown. */
import type { PublishedFolder, UnpublishedVolumeResult } from '../../../../shared/contracts/published-volumes.ts';
import type { HelperClient } from '../../../../shared/helper-client/index.ts';
import type { Logger } from '../../../../shared/log/logger.ts';
import type { ProjectQuotas } from './project-quota/project-quotas.ts';

export type UnpublishVolume = (folder: PublishedFolder) => Promise<UnpublishedVolumeResult>;

export interface TeardownContext {
  /** Without symlinks. */
  readonly rootDir: string;
  readonly podUID: string;
  readonly helper: HelperClient;
  /** Requests from main that the volumes thread ends a publication. */
  readonly unpublishVolume: UnpublishVolume;
  readonly projectQuotas: ProjectQuotas;
  readonly logger: Logger;
  readonly signal: AbortSignal | undefined;
}
