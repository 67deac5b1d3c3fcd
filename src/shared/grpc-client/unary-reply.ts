/** Converts what a unary call has received to the reply's message or to an error (PROTOCOL-HTTP2.md of grpc). Pure. */
import { grpcCode } from '../cri/cri-error.ts';
import { prefixBytes } from './frame.ts';
import { RpcError } from './rpc-error.ts';

type Headers = Readonly<Record<string, string | readonly string[] | number | boolean | undefined>>;

export interface ReceivedReply {
  readonly headers: Headers | undefined;
  /** The same as `headers` when the reply has only headers. */
  readonly trailers: Headers | undefined;
  readonly body: Buffer;
}

/** Returns the message. Throws RpcError. */
export function unaryReply({ headers, trailers, body }: ReceivedReply): Buffer {
  const status = headers?.[':status'];
  if (status !== undefined && status !== 200)
    throw new RpcError(grpcCode.UNKNOWN, `unexpected HTTP status code received from server: ${Number(status)}`);
  const code = trailers?.['grpc-status'];
  if (code === undefined) throw new RpcError(grpcCode.INTERNAL, 'server closed the stream without sending trailers');
  if (code !== '0')
    throw new RpcError(/^\d{1,3}$/.test(String(code)) ? Number(code) : grpcCode.UNKNOWN, decodeText(trailers?.['grpc-message']));
  if (body.length < prefixBytes) throw new RpcError(grpcCode.INTERNAL, 'the reply has no message');
  if (body[0] !== 0) throw new RpcError(grpcCode.INTERNAL, 'grpc: the reply is compressed, which was not asked for');
  if (body.readUInt32BE(1) !== body.length - prefixBytes) throw new RpcError(grpcCode.INTERNAL, 'the reply has not exactly one message');
  return body.subarray(prefixBytes);
}

/** Percent-encoded UTF-8; an invalid text is returned as it is. */
function decodeText(text: unknown): string {
  const encoded = typeof text === 'string' ? text : '';
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
