/**
 * Translates port forwarding's SPDY inside a WebSocket (`SPDY/3.1+portforward.k8s.io`): the SPDY bytes are the bodies of binary messages.
 * Upstream: TunnelingHandler of apiserver pkg/util/proxy.
 */
import { WebSocketClientReader, closeCodes } from './websocket-client-reader.ts';
import type { StreamTranslation } from './translation.ts';
import { closeFrame, opcodes, webSocketFrame } from './websocket-frames.ts';

export const tunnelPrefix = 'SPDY/3.1+';
const noBytes = Buffer.alloc(0);

/** @param protocols without the prefix `SPDY/3.1+` */
export function createPortForwardTranslation(protocols: readonly string[]): StreamTranslation {
  const messages = new WebSocketClientReader();
  return {
    subresource: 'portforward',
    protocols,
    subprotocol: (chosen) => (chosen === '' ? '' : `${tunnelPrefix}${chosen}`),
    initialBytes: { toClient: noBytes, toRuntime: noBytes },
    fromClient: {
      push: (chunk) =>
        messages.push(chunk, ({ opcode, data }) => {
          if (opcode !== opcodes.binary) return null;
          return data.length > 0 ? [data] : [];
        }),
      end: () => noBytes,
    },
    fromRuntime: {
      push: (chunk) => ({ forward: [webSocketFrame(opcodes.binary, chunk)], reply: [], ended: false }),
      end: () => closeFrame(closeCodes.normal),
    },
  };
}
