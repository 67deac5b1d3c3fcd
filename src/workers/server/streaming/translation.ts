/** What stands between a WebSocket client and a runtime that speaks SPDY. Pure: bytes in, bytes out. */
export interface StreamTranslation {
  /** Of the metric: the subresource of the API. */
  readonly subresource: 'exec' | 'attach' | 'portforward';
  /** What the runtime is asked to speak within SPDY. */
  readonly protocols: readonly string[];
  /** The subprotocol of the WebSocket, by the runtime's choice of one of them; empty: none. */
  readonly subprotocol: (chosen: string) => string;
  /** What each hears first. */
  readonly initialBytes: { readonly toClient: Buffer; readonly toRuntime: Buffer };
  readonly fromClient: Converter;
  readonly fromRuntime: Converter;
}

/** One direction. It never throws: what can't be read ends it. */
export interface Converter {
  readonly push: (chunk: Buffer) => Converted;
  /** The sender says no more, or is gone: what the other side hears last. Called once, also after the end. */
  readonly end: () => Buffer;
}

export interface Converted {
  readonly forward: readonly Buffer[];
  /** For the sender itself: it asked whether anybody is there, or says goodbye. */
  readonly reply: readonly Buffer[];
  /** Nothing more of what it sends is of interest. */
  readonly ended: boolean;
}
