/** What the room of streams is given, asked and offers. */
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
  /** Made at the first call. */
  readonly cri: () => Pick<CriClient, 'runtime'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** The parts of the path, decoded. `uid` where the path has it. */
export interface PodTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly uid?: string;
}
export interface ContainerTarget extends PodTarget {
  readonly container: string;
}

/** What Node's `upgrade` event gives; `response` must be assigned to that socket then (`response.assignSocket`): errors go through it. */
export interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** A request that was let in. `upgrade` is null when the client did not ask for one: it gets upstream's answer to that. */
export interface StreamRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly upgrade: Upgrade | null;
  readonly query: URLSearchParams;
}

/**
 * Each answers the request, whatever it is, and never rejects; resolves when the stream or the answer has ended. The runtime may take long:
 * the connection's own time-out must be as long, and none for one that was upgraded.
 */
export interface Streaming {
  /** GET and POST. */
  exec(stream: StreamRequest, target: ContainerTarget): Promise<void>;
  /** GET and POST. */
  attach(stream: StreamRequest, target: ContainerTarget): Promise<void>;
  /** GET and POST. */
  portForward(stream: StreamRequest, target: PodTarget): Promise<void>;
  /** POST. */
  run(request: IncomingMessage, response: ServerResponse, target: ContainerTarget, query: URLSearchParams): Promise<void>;
  /** POST; to be routed only behind the gate ContainerCheckpoint. The path has no UID. */
  checkpoint(request: IncomingMessage, response: ServerResponse, target: ContainerTarget, query: URLSearchParams): Promise<void>;
  /** Ends every stream. */
  close(): void;
}
