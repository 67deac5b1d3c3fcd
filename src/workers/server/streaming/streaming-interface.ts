/** The interface of the streaming handler and its dependencies. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ResolveContainer } from '../../../shared/contracts/server/calls.ts';
import type { StreamingSettings } from '../../../shared/contracts/server/settings.ts';
import type { CriClient } from '../../../shared/cri/client.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';

export interface StreamingDependencies {
  readonly resolveContainer: ResolveContainer;
  readonly settings: Pick<
    StreamingSettings,
    'runtimeRequestTimeoutMs' | 'checkpointsDir' | 'streamingIdleTimeoutMs' | 'translateWebSockets'
  >;
  /** Creates the client of the runtime at the first call: most nodes serve no stream. */
  readonly cri: () => Pick<CriClient, 'runtime'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** The decoded parts of the path. `uid` is set if the path has it. */
export interface PodTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly uid?: string;
}
export interface ContainerTarget extends PodTarget {
  readonly container: string;
}

/** The arguments of Node's `upgrade` event. The response must be assigned to the socket (`response.assignSocket`) for error responses. */
export interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** An authorized request. `upgrade` is null when the client did not request one, which is answered with upstream's error. */
export interface StreamRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly upgrade: Upgrade | null;
  readonly query: URLSearchParams;
}

/**
 * Every method answers the request, never rejects, and resolves when the stream or the response has ended. The runtime may take long, so
 * the connection's timeout must be long, and an upgraded connection must have none.
 */
export interface Streaming {
  /** GET and POST. */
  exec(stream: StreamRequest, target: ContainerTarget): Promise<void>;
  /** GET and POST. */
  attach(stream: StreamRequest, target: ContainerTarget): Promise<void>;
  /** GET and POST. */
  portForward(stream: StreamRequest, target: PodTarget): Promise<void>;
  /** Runs a command without a stream: its output is the response. POST. */
  run(request: IncomingMessage, response: ServerResponse, target: ContainerTarget, query: URLSearchParams): Promise<void>;
  /** POST. Only routed when the feature gate ContainerCheckpoint is on. The path has no UID. */
  checkpoint(request: IncomingMessage, response: ServerResponse, target: ContainerTarget, query: URLSearchParams): Promise<void>;
  /** Ends every stream. */
  close(): void;
}
