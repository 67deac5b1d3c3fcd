/** What the room of container logs is given, asked and offers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ResolveContainer } from '../../../shared/contracts/server/calls.ts';
import type { StreamingSettings } from '../../../shared/contracts/server/settings.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { ContainerList } from './ended-containers.ts';

export interface ContainerLogsDependencies {
  readonly resolveContainer: ResolveContainer;
  readonly settings: Pick<StreamingSettings, 'podLogsDir' | 'splitLogStreams'>;
  /** A RuntimeSnapshotReader: a follower ends with its container. */
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
   * Answers the request, whatever it is; never rejects. A container may be silent for hours: the connection's own time-out must be as long. The
   * method (GET) was checked, and who asks. Resolves when the answer has ended.
   */
  serve(request: IncomingMessage, response: ServerResponse, target: ContainerLogsTarget, query: URLSearchParams): Promise<void>;
  /** Ends every follower. */
  close(): void;
}
