/** The interface of a translation between a WebSocket client and a runtime's SPDY connection. Pure: bytes in, bytes out. */
export interface StreamTranslation {
  /** The API subresource, for the metric. */
  readonly subresource: 'exec' | 'attach' | 'portforward';
  /** The stream protocols that are offered to the runtime. */
  readonly protocols: readonly string[];
  /** Returns the WebSocket subprotocol for the protocol that the runtime chose. Empty: none. */
  readonly subprotocol: (chosen: string) => string;
  /** Sent first to each side. */
  readonly initialBytes: { readonly toClient: Buffer; readonly toRuntime: Buffer };
  readonly fromClient: Converter;
  readonly fromRuntime: Converter;
}

/** Converts one direction. Never throws: invalid input ends the stream. */
export interface Converter {
  readonly push: (chunk: Buffer) => Converted;
  /** Called once when the sender has ended. Returns the last bytes for the other side. */
  readonly end: () => Buffer;
}

export interface Converted {
  readonly forward: readonly Buffer[];
  /** Bytes for the sender: replies to its pings and to its close. */
  readonly reply: readonly Buffer[];
  /** The stream is complete; further input is ignored. */
  readonly ended: boolean;
}
