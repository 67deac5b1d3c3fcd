/**
 * Two connections made one: every byte of each goes to the other, no faster than that takes it. When one side has said all, the other
 * gets the rest of it and a little time to answer; when one breaks, or nothing goes either way for too long, both end.
 */
import type { Socket } from 'node:net';

/** After one side has ended. The protocols say goodbye within themselves before that. */
const lingerMs = 10_000;
/** A peer whose host is gone is found out by the kernel. */
const keepAliveMs = 30_000;

/** The longest that Node's timers take. */
const maxTimerMs = 2 ** 31 - 1;

export type StreamEnd = 'client' | 'runtime' | 'idle';

export interface Joined {
  readonly client: Socket;
  readonly runtime: Socket;
  /** 0: never. */
  readonly idleTimeoutMs: number;
}

/** Resolves when both are closed, with who ended it. Both have their error listeners. */
export function joinConnections({ client, runtime, idleTimeoutMs }: Joined): Promise<StreamEnd> {
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
    const connect = (from: Socket, to: Socket, side: StreamEnd) => {
      from.setNoDelay(true);
      from.setKeepAlive(true, keepAliveMs);
      from.once('end', () => endBy(side));
      from.once('close', () => {
        endBy(side);
        // What it said before still reaches the other end.
        to.destroySoon();
        open -= 1;
        if (open > 0) return;
        clearTimeout(linger);
        resolve(end ?? side);
      });
      from.pipe(to);
    };
    connect(client, runtime, 'client');
    connect(runtime, client, 'runtime');
    // A byte either way is one read from or written to this socket.
    client.setTimeout(0);
    runtime.setTimeout(Math.min(idleTimeoutMs, maxTimerMs), () => {
      end ??= 'idle';
      client.destroy();
      runtime.destroy();
    });
  });
}
