/** The inputs of a pod's teardown. The pod's spec may be unknown. */
import type { HelperClient } from '../../../../shared/helper-client/index.ts';
import type { Logger } from '../../../../shared/log/logger.ts';
import type { ProjectQuotas } from './project-quota/index.ts';

export interface TeardownContext {
  /** Without symlinks. */
  readonly rootDir: string;
  readonly podUID: string;
  readonly helper: HelperClient;
  readonly projectQuotas: ProjectQuotas;
  readonly logger: Logger;
  readonly signal: AbortSignal | undefined;
}
