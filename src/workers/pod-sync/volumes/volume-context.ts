/** What setting up one pod's volumes needs to know. */
import type { NodeFacts } from '../../../shared/contracts/node-facts.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { PodObjectRef, PodObjectResult } from '../../../shared/contracts/pod-objects.ts';
import type { HelperClient } from '../helper/helper-client.ts';

/** Asks main for what lies in the API server: a result for each ref, in order. */
export type RequestPodObjects = (refs: readonly PodObjectRef[]) => Promise<readonly PodObjectResult[]>;

export interface VolumeContext {
  readonly pod: Pod;
  readonly node: NodeFacts;
  /** Without symlinks. */
  readonly rootDir: string;
  readonly helper: HelperClient;
  readonly requestPodObjects: RequestPodObjects;
  readonly logger: Logger;
  /** From `nestedMountpoints`. */
  readonly nestedMountpoints: (volume: string) => string[];
  /** Gate PodLevelResources. */
  readonly podLevelResources: boolean;
  readonly signal: AbortSignal | undefined;
}
