/** The interface of the container logs handler and its dependencies. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ResolveContainer } from '../../../shared/contracts/server/calls.ts';
import type { StreamingSettings } from '../../../shared/contracts/server/settings.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { ContainerList } from './ended-containers.ts';

export interface ContainerLogsDependencies {
  readonly resolveContainer: ResolveContainer;
  readonly settings: Pick<StreamingSettings, 'podLogsDir' | 'splitLogStreams'>;
  /** A RuntimeSnapshotReader. Following ends with the container. */
  readonly snapshot: ContainerList;
  readonly logger: Logger;
}

/** The parts of the path, decoded. */
export interface ContainerLogsTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

export interface ContainerLogs {
  /**
   * Serves an authorized GET request. Never rejects; resolves when the response has ended. A container may write nothing for hours, so the
   * connection's timeout must be long.
   */
  serve(request: IncomingMessage, response: ServerResponse, target: ContainerLogsTarget, query: URLSearchParams): Promise<void>;
  /** Ends every follower. */
  close(): void;
}
