/**
 * Port forwarding's SPDY inside of a WebSocket (`SPDY/3.1+portforward.k8s.io`): its bytes are the bodies of binary messages. Upstream:
 * TunnelingHandler of apiserver pkg/util/proxy.
 */
import { ClientMessages, closeCodes } from './client-messages.ts';
import type { Translation } from './translation.ts';
import { closeFrame, opcodes, webSocketFrame } from './websocket-frames.ts';

export const tunnelPrefix = 'SPDY/3.1+';
const nothing = Buffer.alloc(0);

/** @param protocols without their prefix */
export function tunnelPorts(protocols: readonly string[]): Translation {
  const messages = new ClientMessages();
  return {
    subresource: 'portforward',
    protocols,
    subprotocol: (chosen) => (chosen === '' ? '' : `${tunnelPrefix}${chosen}`),
    opening: { toClient: nothing, toRuntime: nothing },
    fromClient: {
      feed: (chunk) =>
        messages.feed(chunk, ({ opcode, data }) => {
          if (opcode !== opcodes.binary) return null;
          return data.length > 0 ? [data] : [];
        }),
      end: () => nothing,
    },
    fromRuntime: {
      feed: (chunk) => ({ forward: [webSocketFrame(opcodes.binary, chunk)], reply: [], ended: false }),
      end: () => closeFrame(closeCodes.normal),
    },
  };
}
