/** Opens a TCP connection to a probe's host. A host name is resolved without the threads of libuv's pool, which all threads of the process share. */
import { connect, isIP, type Socket } from 'node:net';
import { resolveHost } from './resolve-host.ts';
import { dialError, isNodeError } from './socket-error.ts';

export interface ConnectionHandlers {
  readonly onConnect: (socket: Socket) => void;
  /** Called when the connection was not established. `doubt: 'node'`: this process lacked resources, so the failure says nothing about the host. */
  readonly onError: (failure: { readonly message: string; readonly doubt?: 'node' }) => void;
}

export interface OpeningConnection {
  /** Ends the attempt; no handler is called any more. No effect after `onConnect`: the caller then owns the socket. */
  cancel(): void;
}

export function openConnection(host: string, port: number, handlers: ConnectionHandlers): OpeningConnection {
  let socket: Socket | undefined;
  let isOver = false;
  const open = (address: string) => {
    const onError = (err: unknown) => {
      if (isOver) return;
      isOver = true;
      socket?.destroy();
      handlers.onError({ message: dialError(err, address, port), ...(isNodeError(err) && { doubt: 'node' }) });
    };
    socket = connect({ host: address, port });
    // `onError` stays until `onConnect` has added a listener of its own: an 'error' event without a listener would end the thread.
    socket.once('error', onError);
    socket.once('connect', () => {
      try {
        handlers.onConnect(socket!);
        isOver = true;
        socket!.off('error', onError);
      } catch (err) {
        onError(err);
      }
    });
  };
  if (isIP(host) !== 0) open(host);
  else {
    resolveHost(host).then(
      (address) => isOver || open(address),
      (err: unknown) => {
        if (isOver) return;
        isOver = true;
        handlers.onError({ message: `dial tcp: lookup ${host}: ${err instanceof Error ? err.message : String(err)}` });
      },
    );
  }
  return {
    cancel() {
      if (isOver) return;
      isOver = true;
      socket?.on('error', () => {});
      socket?.destroy();
    },
  };
}
