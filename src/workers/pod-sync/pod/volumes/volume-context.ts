/** The inputs that the set-up functions of all volume kinds share. */
import type { NodeInfo } from '../../../../shared/contracts/node-info.ts';
import type { Pod } from '../../../../shared/kubernetes/api.ts';
import type { Logger } from '../../../../shared/log/logger.ts';
import type { PodObjectRef, PodObjectResult } from '../../../../shared/contracts/pod-objects.ts';
import type { PublishedVolume, PublishedVolumeResult } from '../../../../shared/contracts/published-volumes.ts';
import type { ResolveFileUser } from './file-user.ts';
import type { ProjectQuotas } from './project-quota/project-quotas.ts';
import type { HelperClient } from '../../../../shared/helper-client/index.ts';

/** Requests API objects from main. Resolves with one result for each ref, in the same order. Rejects when the objects are longer than `maxBytes`. */
export type RequestPodObjects = (refs: readonly PodObjectRef[], maxBytes: number) => Promise<readonly PodObjectResult[]>;

export interface VolumeContext {
  readonly pod: Pod;
  readonly node: NodeInfo;
  /** Without symlinks. */
  readonly rootDir: string;
  readonly helper: HelperClient;
  readonly requestPodObjects: RequestPodObjects;
  /** Requests from main that the volumes thread publishes the volume of this name. */
  readonly publishVolume: (volume: string) => Promise<PublishedVolumeResult>;
  /** The published volumes, by their names in the pod. `containerMount` gets their paths from here. */
  readonly publishedVolumes: Map<string, PublishedVolume>;
  /** The longest files that this set-up of a volume may make, in total: `maxSmallBytes` or `maxLargeBytes`. */
  readonly maxBytes: number;
  /** Runs the set-ups with large files one after the other. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly logger: Logger;
  /** Made by the function of the same name. */
  readonly nestedMountpoints: (volume: string) => string[];
  /** Gate PodLevelResources. */
  readonly podLevelResources: boolean;
  /** Gate EmptyDirVolumeMode. */
  readonly emptyDirModes: boolean;
  readonly resolveFileUser: ResolveFileUser;
  readonly projectQuotas: ProjectQuotas;
  readonly signal: AbortSignal | undefined;
}
