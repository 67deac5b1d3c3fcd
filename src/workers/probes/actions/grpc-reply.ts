/** The outcome of a call of grpc.health.v1.Health/Check, with grpc-go's codes and texts (internal/transport/http2_client.go). Pure. */
import { STATUS_CODES } from 'node:http';
import { grpcCode } from '../../../shared/cri/cri-error.ts';
import { http2ErrorName, type Http2ErrorName } from '../../../shared/dial/http2-error-name.ts';
import { prefixBytes } from '../../../shared/grpc-client/frame.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { decodeHealthStatus } from './health-messages.ts';

/** The status of a failed call: a gRPC code, and its description. */
export interface RpcStatus {
  readonly code: number;
  readonly details: string;
}

export type ReplyHeaders = Readonly<Record<string, string | readonly string[] | number | boolean | undefined>>;

/** How the stream ended. */
export interface GrpcStreamEnd {
  readonly headers: ReplyHeaders | undefined;
  /** The headers again when the response has only headers. */
  readonly trailers: ReplyHeaders | undefined;
  /** The code of RST_STREAM. 0: the server has ended the stream. */
  readonly resetCode: number;
}

/** The longest message. grpc-go allows 4 MiB, but a health status is one small number, and a node may have thousands of probes. */
export const maxReplyBytes = 64 * 1024;

/** Upstream: HTTPStatusConvTab. */
const codesOfHttpStatus: Readonly<Record<number, number>> = {
  400: grpcCode.INTERNAL,
  401: grpcCode.UNAUTHENTICATED,
  403: grpcCode.PERMISSION_DENIED,
  404: grpcCode.UNIMPLEMENTED,
  429: grpcCode.UNAVAILABLE,
  502: grpcCode.UNAVAILABLE,
  503: grpcCode.UNAVAILABLE,
  504: grpcCode.UNAVAILABLE,
};

/** Returns why the headers are not those of a gRPC server. */
export function headersFault(headers: ReplyHeaders): RpcStatus | undefined {
  const contentType = headers['content-type'];
  if (typeof contentType === 'string' && /^application\/grpc(?:$|[+;])/i.test(contentType)) return undefined;
  const status = Number(headers[':status']);
  const reason =
    contentType === undefined
      ? 'malformed header: missing HTTP content-type'
      : `transport: received unexpected content-type ${goQuote(String(contentType))}`;
  return {
    code: codesOfHttpStatus[status] ?? grpcCode.UNKNOWN,
    details: `unexpected HTTP status code received from server: ${status} (${STATUS_CODES[status] ?? ''}); ${reason}`,
  };
}

/** Returns what is wrong with the part of the body that has arrived so far. A message of up to `maxReplyBytes` and two prefixes are enough to decide. */
export function bodyFault(body: Buffer, headers: ReplyHeaders | undefined): RpcStatus | undefined {
  if (body.length < prefixBytes) return undefined;
  const length = body.readUInt32BE(1);
  if (length > maxReplyBytes)
    return { code: grpcCode.RESOURCE_EXHAUSTED, details: `grpc: received message larger than max (${length} vs. ${maxReplyBytes})` };
  if (body[0] === 1) {
    const encoding = headers?.['grpc-encoding'] ?? 'identity';
    const isIdentity = encoding === 'identity' || encoding === '';
    const details = isIdentity
      ? 'grpc: compressed flag set with identity or empty encoding'
      : `grpc: Decompressor is not installed for grpc-encoding ${goQuote(String(encoding))}`;
    return { code: grpcCode.INTERNAL, details };
  }
  if (body[0] !== 0) return { code: grpcCode.INTERNAL, details: `grpc: received unexpected payload format ${body[0]}` };
  return body.length >= 2 * prefixBytes + length
    ? internal('cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message')
    : undefined;
}

/** Returns the name of the health status, or why there is none. */
export function computeReply(body: Buffer, { headers, trailers, resetCode }: GrpcStreamEnd): string | RpcStatus {
  const fault = (headers && headersFault(headers)) ?? bodyFault(body, headers);
  if (fault) return fault;
  if (resetCode !== 0) return resetStatus(resetCode);
  const length = body.length >= prefixBytes ? body.readUInt32BE(1) : 0;
  const isComplete = body.length === prefixBytes + length;
  const status = isComplete ? decode(body.subarray(prefixBytes)) : undefined;
  if (typeof status === 'object') return status;
  if (!trailers) return internal('server closed the stream without sending trailers');
  const error = trailersStatus(trailers);
  if (error) return error;
  if (status !== undefined) return status;
  return internal(
    body.length === 0 ? 'cardinality violation: received no response message from non-server-streaming RPC' : 'unexpected EOF',
  );
}

function decode(message: Buffer): string | RpcStatus {
  try {
    return decodeHealthStatus(message);
  } catch {
    return internal('grpc: failed to unmarshal the received message: proto: cannot parse invalid wire-format data');
  }
}

/** Undefined: the call succeeded. */
function trailersStatus(trailers: ReplyHeaders): RpcStatus | undefined {
  const text = trailers['grpc-status'];
  if (text === undefined) return { code: grpcCode.UNKNOWN, details: '' };
  const value = String(text);
  if (!/^[+-]?\d{1,9}$/.test(value)) {
    const parsed = `strconv.ParseInt: parsing ${goQuote(value)}: invalid syntax`;
    return { code: grpcCode.UNKNOWN, details: `transport: malformed grpc-status: ${parsed}` };
  }
  const code = Number(value);
  return code === 0 ? undefined : { code, details: decodeMessage(String(trailers['grpc-message'] ?? '')) };
}

/** Percent-encoded UTF-8. An invalid escape stays as it is. */
function decodeMessage(text: string): string {
  const bytes = text.replaceAll(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

/** Upstream: http2ErrConvTab. Other codes of HTTP/2 are UNKNOWN. */
const resetCodes: Partial<Record<string, number>> & Record<Http2ErrorName, number> = {
  NO_ERROR: grpcCode.INTERNAL,
  PROTOCOL_ERROR: grpcCode.INTERNAL,
  INTERNAL_ERROR: grpcCode.INTERNAL,
  FLOW_CONTROL_ERROR: grpcCode.RESOURCE_EXHAUSTED,
  SETTINGS_TIMEOUT: grpcCode.INTERNAL,
  STREAM_CLOSED: grpcCode.INTERNAL,
  FRAME_SIZE_ERROR: grpcCode.INTERNAL,
  REFUSED_STREAM: grpcCode.UNAVAILABLE,
  CANCEL: grpcCode.CANCELLED,
  COMPRESSION_ERROR: grpcCode.INTERNAL,
  CONNECT_ERROR: grpcCode.INTERNAL,
  ENHANCE_YOUR_CALM: grpcCode.RESOURCE_EXHAUSTED,
  INADEQUATE_SECURITY: grpcCode.PERMISSION_DENIED,
  HTTP_1_1_REQUIRED: grpcCode.INTERNAL,
};

function resetStatus(code: number): RpcStatus {
  const name = http2ErrorName(code);
  return { code: resetCodes[name] ?? grpcCode.UNKNOWN, details: `stream terminated by RST_STREAM with error code: ${name}` };
}

function internal(details: string): RpcStatus {
  return { code: grpcCode.INTERNAL, details };
}
