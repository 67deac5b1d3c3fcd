/**
 * Makes one unary gRPC call to a plugin's Unix socket, on a connection of its own, as upstream's CSI client does. A plugin that was replaced is therefore found
 * without a back-off. The connection also bounds what a hostile plugin can send: headers, replies, and frames that never end.
 */
import type { ClientHttp2Session } from 'node:http2';
import { connect } from 'node:net';
import { grpcCode } from '../cri/cri-error.ts';
import { openHttp2Session } from '../dial/http2-session.ts';
import { socketErrorCode } from '../dial/socket-error.ts';
import { WatchedConnection } from '../dial/watched-connection.ts';
import { frameMessage } from './frame.ts';
import { RpcError } from './rpc-error.ts';
import { unaryReply, type ReceivedReply } from './unary-reply.ts';

export interface UnaryCall {
  readonly socketPath: string;
  /** `/csi.v1.Node/NodeGetInfo` */
  readonly path: string;
  readonly request: Uint8Array;
  readonly deadlineMs: number;
  /** The largest message in a reply. Default: 1 MiB. */
  readonly maxReplyBytes?: number;
}

const defaultMaxReplyBytes = 1024 * 1024;
const maxHeaderBytes = 64 * 1024;
/** For the frames of HTTP/2 around the reply. */
const frameAllowance = 64 * 1024;
/** The kernel's limit in bytes: sun_path has 108, with a final NUL. */
const maxSocketPath = 107;

/** Resolves with the bytes of the reply. Rejects with RpcError. */
export function callUnary({ socketPath, path, request, deadlineMs, maxReplyBytes = defaultMaxReplyBytes }: UnaryCall): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let session: ClientHttp2Session | undefined;
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      session?.destroy();
      settle();
    };
    const fail = (err: unknown) => finish(() => reject(err));
    const timer = setTimeout(() => fail(new RpcError(grpcCode.DEADLINE_EXCEEDED, 'context deadline exceeded')), deadlineMs);
    if (Buffer.byteLength(socketPath) > maxSocketPath)
      return fail(new RpcError(grpcCode.UNAVAILABLE, `the path of the socket has more than ${maxSocketPath} bytes`));
    const socket = new WatchedConnection(connect(socketPath), maxReplyBytes + maxHeaderBytes + frameAllowance);
    session = openHttp2Session(socket, {
      url: 'http://localhost',
      maxHeaderBytes,
      onClose: (err) => fail(new RpcError(grpcCode.UNAVAILABLE, connectionFault(err, socketPath))),
    });
    exchange(session, { path, request, deadlineMs, maxReplyBytes }, (reply) => {
      try {
        const message = unaryReply(reply);
        finish(() => resolve(message));
      } catch (err) {
        fail(err);
      }
    });
  });
}

/** Calls back once the server has ended the stream. */
function exchange(
  session: ClientHttp2Session,
  { path, request, deadlineMs, maxReplyBytes }: Required<Omit<UnaryCall, 'socketPath'>>,
  onReply: (reply: ReceivedReply) => void,
): void {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    'grpc-timeout': `${Math.ceil(deadlineMs)}m`,
  });
  const reply: { headers: ReceivedReply['headers']; trailers: ReceivedReply['trailers']; chunks: Buffer[]; bytes: number } = {
    headers: undefined,
    trailers: undefined,
    chunks: [],
    bytes: 0,
  };
  stream.on('error', () => {});
  stream.on('response', (headers, flags) => {
    reply.headers = headers;
    // END_STREAM (1): nothing follows, so these headers are the trailers too.
    if ((flags & 1) !== 0) reply.trailers = headers;
  });
  stream.on('trailers', (trailers) => (reply.trailers = trailers));
  stream.on('data', (chunk: Buffer) => {
    reply.bytes += chunk.length;
    if (reply.bytes <= maxReplyBytes) reply.chunks.push(chunk);
  });
  stream.once('close', () => {
    // An ending connection closes its streams first. `onClose` of the session then reports the reason.
    if (!reply.headers && session.destroyed) return;
    const body = Buffer.concat(reply.chunks);
    if (reply.bytes <= maxReplyBytes) return onReply({ ...reply, body });
    const text = `grpc: received message larger than max (${reply.bytes} vs. ${maxReplyBytes})`;
    onReply({ headers: reply.headers, trailers: { 'grpc-status': String(grpcCode.RESOURCE_EXHAUSTED), 'grpc-message': text }, body });
  });
  stream.end(frameMessage(request));
}

function connectionFault(err: Error | undefined, socketPath: string): string {
  if (!err) return 'error reading from server: EOF';
  const code = socketErrorCode(err);
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: 'no such file or directory',
    ECONNREFUSED: 'connection refused',
    EACCES: 'permission denied',
  };
  const reason = reasons[code];
  return reason === undefined
    ? `connection error: ${err.message}`
    : `connection error: desc = "transport: Error while dialing: dial unix ${socketPath}: connect: ${reason}"`;
}
