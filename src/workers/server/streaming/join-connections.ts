/**
 * Two connections made one: every byte of each goes to the other, no faster than that takes it. When one side has said all, the other
 * gets the rest of it and a little time to answer; when one breaks, or nothing goes either way for too long, both end.
 */
import type { Socket } from 'node:net';
import type { Converter, StreamTranslation } from './translation.ts';

/** After one side has ended. The protocols say goodbye within themselves before that. */
const lingerMs = 10_000;
/** A peer whose host is gone is found out by the kernel. */
const keepAliveMs = 30_000;
/** Of replies to a peer that does not take them: who only asks, and never listens, gets no answer. */
const maxReplyBytes = 64 * 1024;

/** The longest that Node's timers take. */
const maxTimerMs = 2 ** 31 - 1;

export type StreamEnd = 'client' | 'runtime' | 'idle';

export interface JoinOptions {
  readonly client: Socket;
  readonly runtime: Socket;
  /** 0: never. */
  readonly idleTimeoutMs: number;
  /** Null: both speak the same. */
  readonly translation?: Pick<StreamTranslation, 'fromClient' | 'fromRuntime'> | null;
}

/** Resolves when both are closed, with who ended it. Both have their error listeners. */
export function joinConnections({ client, runtime, idleTimeoutMs, translation = null }: JoinOptions): Promise<StreamEnd> {
  return new Promise((resolve) => {
    let end: StreamEnd | null = null;
    let open = 2;
    let linger: NodeJS.Timeout | undefined;
    const endBy = (side: StreamEnd) => {
      end ??= side;
      linger ??= setTimeout(() => {
        client.destroy();
        runtime.destroy();
      }, lingerMs);
    };
    const connect = (from: Socket, to: Socket, side: StreamEnd, converter: Converter | undefined) => {
      from.setNoDelay(true);
      from.setKeepAlive(true, keepAliveMs);
      if (converter) convert(from, to, converter, () => endBy(side));
      else from.pipe(to);
      from.once('end', () => endBy(side));
      from.once('close', () => {
        endBy(side);
        // What it said before still reaches the other end. A client's connection that is closed with input unread is reset, and loses that.
        if (side === 'runtime') to.end().resume();
        else to.destroySoon();
        open -= 1;
        if (open > 0) return;
        clearTimeout(linger);
        resolve(end ?? side);
      });
    };
    connect(client, runtime, 'client', translation?.fromClient);
    connect(runtime, client, 'runtime', translation?.fromRuntime);
    // A byte either way is one read from or written to this socket.
    client.setTimeout(0);
    runtime.setTimeout(Math.min(idleTimeoutMs, maxTimerMs), () => {
      end ??= 'idle';
      client.destroy();
      runtime.destroy();
    });
  });
}

/** As a pipe, through a converter, which may see the end before the sender's connection has one. */
function convert(from: Socket, to: Socket, converter: Converter, onEnd: () => void): void {
  let ended = false;
  const resume = () => from.resume();
  const finish = () => {
    if (ended) return;
    ended = true;
    to.off('drain', resume);
    const last = converter.end();
    if (to.writable) to.end(last);
    // Neither protocol knows a half of a connection.
    from.destroySoon();
    onEnd();
  };
  from.on('data', (chunk: Buffer) => {
    if (ended) return;
    const converted = converter.push(chunk);
    for (const bytes of converted.reply) if (from.writable && from.writableLength < maxReplyBytes) from.write(bytes);
    let taken = true;
    for (const bytes of converted.forward) taken = to.writable && to.write(bytes);
    if (converted.ended) finish();
    else if (!taken && to.writable) from.pause();
  });
  to.on('drain', resume);
  from.once('end', finish);
  from.once('close', finish);
}
