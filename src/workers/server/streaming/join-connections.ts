/**
 * Joins two connections: the bytes of each are written to the other, with backpressure. When one side ends, the other gets the remaining
 * bytes and a short time to respond. When one side breaks, or the idle timeout expires, both are closed.
 */
import type { Socket } from 'node:net';
import type { Converter, StreamTranslation } from './translation.ts';

/** Time until both connections are closed after one side has ended. The stream protocols have their own closing messages before that. */
const lingerMs = 10_000;
/** TCP keep-alive detects a peer whose host is down. */
const keepAliveMs = 30_000;
/** Limit for unsent replies to a peer. Further replies are dropped. */
const maxUnsentReplyBytes = 64 * 1024;

/** The longest delay of Node's timers. */
const maxTimerMs = 2 ** 31 - 1;

export type StreamEnd = 'client' | 'runtime' | 'idle';

export interface JoinOptions {
  readonly client: Socket;
  readonly runtime: Socket;
  /** 0 disables the timeout. */
  readonly idleTimeoutMs: number;
  /** Null when both sides use the same protocol. */
  readonly translation?: Pick<StreamTranslation, 'fromClient' | 'fromRuntime'> | null;
}

/** Resolves when both connections are closed, with the side that ended first. The caller must have added error listeners to both. */
export function joinConnections({ client, runtime, idleTimeoutMs, translation = null }: JoinOptions): Promise<StreamEnd> {
  return new Promise((resolve) => {
    let endedBy: StreamEnd | null = null;
    let openConnections = 2;
    let linger: NodeJS.Timeout | undefined;
    const noteEnd = (side: StreamEnd) => {
      endedBy ??= side;
      linger ??= setTimeout(() => {
        client.destroy();
        runtime.destroy();
      }, lingerMs);
    };
    const connect = (from: Socket, to: Socket, side: StreamEnd, converter: Converter | undefined) => {
      from.setNoDelay(true);
      from.setKeepAlive(true, keepAliveMs);
      if (converter) convert(from, to, converter, () => noteEnd(side));
      else from.pipe(to);
      from.once('end', () => noteEnd(side));
      from.once('close', () => {
        noteEnd(side);
        // The other side still gets the bytes sent before. A client connection that is closed with unread input would be reset and lose these bytes.
        if (side === 'runtime') to.end().resume();
        else to.destroySoon();
        openConnections -= 1;
        if (openConnections > 0) return;
        clearTimeout(linger);
        resolve(endedBy ?? side);
      });
    };
    connect(client, runtime, 'client', translation?.fromClient);
    connect(runtime, client, 'runtime', translation?.fromRuntime);
    // The timer of the runtime's socket is enough: every byte of either direction is read from or written to that socket.
    client.setTimeout(0);
    runtime.setTimeout(Math.min(idleTimeoutMs, maxTimerMs), () => {
      endedBy ??= 'idle';
      client.destroy();
      runtime.destroy();
    });
  });
}

/** Pipes through a converter. The converter may end the stream before the sender's connection ends. */
function convert(from: Socket, to: Socket, converter: Converter, onEnd: () => void): void {
  let ended = false;
  const resume = () => from.resume();
  const finish = () => {
    if (ended) return;
    ended = true;
    to.off('drain', resume);
    const lastBytes = converter.end();
    if (to.writable) to.end(lastBytes);
    // Neither protocol supports half-closed connections.
    from.destroySoon();
    onEnd();
  };
  from.on('data', (chunk: Buffer) => {
    if (ended) return;
    const converted = converter.push(chunk);
    for (const bytes of converted.reply) if (from.writable && from.writableLength < maxUnsentReplyBytes) from.write(bytes);
    let hasRoom = true;
    for (const bytes of converted.forward) hasRoom = to.writable && to.write(bytes);
    if (converted.ended) finish();
    else if (!hasRoom && to.writable) from.pause();
  });
  to.on('drain', resume);
  from.once('end', finish);
  from.once('close', finish);
}
