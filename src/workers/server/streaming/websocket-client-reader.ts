/** Reads the frames of a WebSocket client. Replies to its control frames and forwards the data of its messages. */
import type { Converted } from './translation.ts';
import { closeFrame, opcodes, webSocketFrame, WebSocketReader, type WebSocketPiece } from './websocket-frames.ts';

export const closeCodes = { normal: 1000, protocolError: 1002 } as const;

export class WebSocketClientReader {
  readonly #reader = new WebSocketReader();
  #ended = false;

  /** `onPiece` returns the data to forward for a piece of a message, or null for a protocol error. */
  push(chunk: Buffer, onPiece: (piece: WebSocketPiece) => Buffer[] | null): Converted {
    const forward: Buffer[] = [];
    const reply: Buffer[] = [];
    const finish = (code: number) => {
      reply.push(closeFrame(code));
      this.#ended = true;
    };
    try {
      for (const piece of this.#ended ? [] : this.#reader.push(chunk)) {
        const { opcode, data } = piece;
        if (opcode === opcodes.ping) reply.push(webSocketFrame(opcodes.pong, data));
        if (opcode === opcodes.close) finish(closeCodes.normal);
        // All opcodes of data are lower than those of control frames.
        if (opcode < opcodes.close) {
          const bytes = onPiece(piece);
          if (bytes === null) finish(closeCodes.protocolError);
          else forward.push(...bytes);
        }
        if (this.#ended) break;
      }
    } catch {
      finish(closeCodes.protocolError);
    }
    return { forward, reply, ended: this.#ended };
  }
}
