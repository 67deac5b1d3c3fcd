/**
 * Translates a command's WebSocket channels (`v5.channel.k8s.io`) to the runtime's SPDY streams (`v4.channel.k8s.io`). The runtimes' own
 * WebSockets can not signal the end of stdin. Upstream: StreamTranslatorHandler of apiserver pkg/util/proxy.
 */
import type { RemoteCommandOptions } from './stream-options.ts';
import { dataFrame, openStreams, pingFrame, SpdyReader, streamID } from './spdy-frames.ts';
import type { Converted, Converter, StreamTranslation } from './translation.ts';
import { closeCodes, WebSocketClientReader } from './websocket-client-reader.ts';
import { closeFrame, opcodes, webSocketFrame, type WebSocketPiece } from './websocket-frames.ts';

export const commandProtocol = 'v5.channel.k8s.io';
const runtimeProtocol = 'v4.channel.k8s.io';
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
/** Size limit for the API Status that ends a command. */
const maxStatusBytes = 64 * 1024;
const noBytes = Buffer.alloc(0);

type StreamName = 'error' | 'stdin' | 'stdout' | 'stderr' | 'resize';

export function createCommandTranslation(
  subresource: 'exec' | 'attach',
  { stdin, stdout, stderr, tty }: RemoteCommandOptions,
): StreamTranslation {
  // The runtime waits for exactly these streams. A stream's position in the list determines its ID.
  const names: StreamName[] = ['error'];
  if (stdin) names.push('stdin');
  if (stdout) names.push('stdout');
  if (stderr) names.push('stderr');
  if (tty) names.push('resize');
  const idOf = (name: StreamName): number | null => (names.includes(name) ? streamID(names.indexOf(name)) : null);
  const greetingChannel = stdout ? channels.stdout : stderr ? channels.stderr : channels.error;
  return {
    subresource,
    protocols: [runtimeProtocol],
    subprotocol: () => commandProtocol,
    initialBytes: {
      // An empty message that shows the client that it is connected.
      toClient: channelFrame(greetingChannel, noBytes),
      toRuntime: openStreams(names.map((streamtype) => ({ streamtype }))),
    },
    fromClient: fromClient({ stdin: idOf('stdin'), resize: idOf('resize') }),
    fromRuntime: fromRuntime({ error: idOf('error'), stdout: idOf('stdout'), stderr: idOf('stderr') }),
  };
}

function channelFrame(channel: number, data: Buffer): Buffer {
  return webSocketFrame(opcodes.binary, Buffer.from([channel]), data);
}

/** Stream IDs. Null when the command has no such stream; the data of its channel is then dropped. */
interface ClientStreams {
  readonly stdin: number | null;
  readonly resize: number | null;
}

function fromClient({ stdin, resize }: ClientStreams): Converter {
  const messages = new WebSocketClientReader();
  const openInputs = new Map<number, number>();
  if (stdin !== null) openInputs.set(channels.stdin, stdin);
  if (resize !== null) openInputs.set(channels.resize, resize);
  /** The channel of the current message; null before its first byte. */
  let channel: number | null = null;
  /** What has arrived of a close message: the number of the channel whose stream the client ends. */
  let closing: Buffer = noBytes;

  const onPiece = ({ data, first, last }: WebSocketPiece): Buffer[] | null => {
    if (first) {
      channel = null;
      closing = noBytes;
    }
    let body = data;
    if (channel === null && data.length > 0) {
      channel = data[0]!;
      body = data.subarray(1);
    }
    if (channel === channels.close) {
      // The message is one byte. A longer one is refused before its end, which may never come.
      if (closing.length + body.length > 1) return null;
      if (body.length === 1) closing = body;
      if (!last) return [];
      const [closed] = closing;
      if (closed === undefined || closed > channels.resize) return null;
      const stream = openInputs.get(closed);
      openInputs.delete(closed);
      return stream === undefined ? [] : [dataFrame(stream, noBytes, true)];
    }
    const stream = channel === null ? undefined : openInputs.get(channel);
    return stream === undefined || body.length === 0 ? [] : [dataFrame(stream, body)];
  };
  return { push: (chunk) => messages.push(chunk, onPiece), end: () => noBytes };
}

interface RuntimeStreams {
  readonly error: number | null;
  readonly stdout: number | null;
  readonly stderr: number | null;
}

function fromRuntime({ error, stdout, stderr }: RuntimeStreams): Converter {
  const reader = new SpdyReader();
  const openStreams = new Set([error, stdout, stderr].filter((id) => id !== null));
  const channelOf = new Map([
    [stdout, channels.stdout],
    [stderr, channels.stderr],
  ]);
  const status: Buffer[] = [];
  let statusBytes = 0;
  let fault = 'the connection to the runtime was lost';

  const feed = (chunk: Buffer): Converted => {
    const forward: Buffer[] = [];
    const reply: Buffer[] = [];
    for (const event of reader.push(chunk)) {
      if (event.type === 'ping') {
        reply.push(pingFrame(event.id));
        continue;
      }
      const { stream, data, end } = event;
      const channel = channelOf.get(stream);
      if (channel !== undefined && data.length > 0) forward.push(channelFrame(channel, data));
      if (stream === error && statusBytes + data.length <= maxStatusBytes) {
        status.push(Buffer.from(data));
        statusBytes += data.length;
      }
      if (end) openStreams.delete(stream);
    }
    return { forward, reply, ended: openStreams.size === 0 };
  };
  return {
    push: (chunk) => {
      try {
        return feed(chunk);
      } catch (err) {
        fault = `the runtime can not be understood: ${(err as Error).message}`;
        return { forward: [], reply: [], ended: true };
      }
    },
    /** Sends the command's status last, in whatever order the runtime's streams ended. */
    end: () => {
      const finalStatus =
        statusBytes > 0
          ? Buffer.concat(status)
          : Buffer.from(JSON.stringify(error !== null && !openStreams.has(error) ? success : failure(fault)));
      return Buffer.concat([channelFrame(channels.error, finalStatus), closeFrame(closeCodes.normal)]);
    },
  };
}

const success = { metadata: {}, status: 'Success' };

function failure(why: string): object {
  const message = `Internal error occurred: ${why}`;
  return { metadata: {}, status: 'Failure', message, reason: 'InternalError', details: { causes: [{ message: why }] }, code: 500 };
}
