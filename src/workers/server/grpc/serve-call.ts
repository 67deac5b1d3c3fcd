/** Serves one HTTP/2 stream: finds its method, and ends the call with the handler's result or error. Never throws. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { Call, type ClientLimits } from './call.ts';
import type { CallTable } from './call-table.ts';
import { parseTimeout, unframeMessage } from './message-frames.ts';
import { GrpcError, statusCode } from './status.ts';

/** A stream of responses, for the handler. */
export type ResponseStream = Pick<Call, 'send' | 'ended'>;

/** Handlers reject with GrpcError; any other error has the code Unknown. */
export type Method =
  | { readonly kind: 'unary'; readonly handle: (request: Uint8Array) => Promise<Uint8Array> }
  | { readonly kind: 'stream'; readonly handle: (request: Uint8Array, stream: ResponseStream) => Promise<void> };

/** The methods by path, such as `/v1alpha1.Pods/ListPods`. */
export type Methods = Readonly<Record<string, Method>>;

export interface CallContext {
  readonly methods: () => Promise<Methods>;
  readonly calls: CallTable;
  /** Called for each unary call. Throws GrpcError when there are too many. */
  readonly limitRate: () => void;
  readonly limits: ClientLimits;
  readonly logger: Logger;
}

export async function serveCall(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, context: CallContext): Promise<void> {
  try {
    const call = new Call(stream, context.limits);
    const refusal = refusedStatus(headers);
    if (refusal !== null) await call.refuse(refusal);
    else await runWithin(parseTimeout(headers['grpc-timeout']), call, () => run(call, String(headers[':path']), context));
  } catch (err) {
    context.logger.warn({ err }, 'failed to serve a gRPC call');
    stream.destroy();
  }
}

function refusedStatus(headers: IncomingHttpHeaders): number | null {
  if (headers[':method'] !== 'POST') return 405;
  return /^application\/grpc($|[+;])/.test(headers['content-type'] ?? '') ? null : 415;
}

/** Ends the call when the client's time is over. */
async function runWithin(timeoutMs: number | null, call: Call, work: () => Promise<void>): Promise<void> {
  const limitMs = timeoutMs !== null && timeoutMs < maxTimerMs ? timeoutMs : null;
  const timer =
    limitMs === null ? undefined : setTimeout(() => void call.end(statusCode.DEADLINE_EXCEEDED, 'context deadline exceeded'), limitMs);
  try {
    await work();
  } finally {
    clearTimeout(timer);
  }
}

/** The longest delay of Node's timers. */
const maxTimerMs = 2 ** 31 - 1;

async function run(call: Call, path: string, { methods, calls, limitRate }: CallContext): Promise<void> {
  calls.add(call);
  try {
    const knownMethods = await methods();
    const method = Object.hasOwn(knownMethods, path) ? knownMethods[path] : undefined;
    if (!method) throw new GrpcError(statusCode.UNIMPLEMENTED, unknownMethod(path, Object.keys(knownMethods)));
    const request = unframeMessage(await call.readRequest());
    if (method.kind === 'unary') {
      limitRate();
      await call.send(await method.handle(request));
    } else {
      calls.toStream(call);
      await method.handle(request, call);
    }
    await call.end(statusCode.OK);
  } catch (err) {
    await call.end(err instanceof GrpcError ? err.code : statusCode.UNKNOWN, messageOf(err));
  } finally {
    calls.remove(call);
  }
}

/** Go's messages. */
function unknownMethod(path: string, knownPaths: readonly string[]): string {
  const [, service = '', method = ''] = /^\/(.+)\/([^/]*)$/.exec(path) ?? [];
  if (service === '') return `malformed method name: ${JSON.stringify(path)}`;
  return knownPaths.some((knownPath) => knownPath.startsWith(`/${service}/`))
    ? `unknown method ${method} for service ${service}`
    : `unknown service ${service}`;
}
