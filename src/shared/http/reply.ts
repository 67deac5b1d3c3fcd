/** A response before it is sent, and the error responses of Go's HTTP server and go-restful. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /**
   * The rest of a long page, after `body`. Each piece is made when the client has taken the pieces before. An empty piece is not sent: it lets the thread serve
   * other requests.
   */
  readonly pieces?: Pieces;
  /** The bytes of memory that the reply holds until its pieces are sent. Default: the length of `body`. */
  readonly heldLength?: number;
}

export type Pieces = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

const plainText = { 'Content-Type': 'text/plain; charset=utf-8' };

export function ok(body: string, contentType = plainText['Content-Type']): Reply {
  return { status: 200, headers: { 'Content-Type': contentType }, body };
}

/** @param heldLength the default, 4 MiB, is the usage of 2,000 cgroups, from which the pages of metrics are made */
export function inPieces(pieces: Pieces, contentType: string, heldLength = 4 * 1024 * 1024): Reply {
  return { ...ok('', contentType), pieces, heldLength };
}

/** Returns a reply that closes the connection. */
export function withConnectionClose(reply: Reply): Reply {
  return { ...reply, headers: { ...reply.headers, Connection: 'close' } };
}

/** Go's http.Error. */
export function error(status: number, message: string): Reply {
  return { status, headers: { ...plainText, 'X-Content-Type-Options': 'nosniff' }, body: `${message}\n` };
}

/** Go's ServeMux for a path without a handler. */
export const pageNotFound: Reply = error(404, '404 page not found');

/** Go's HTTP server for a request that it can not parse. */
export const badRequest: Reply = { status: 400, headers: { ...plainText, Connection: 'close' }, body: '400 Bad Request' };

/** Go's ServeMux (1.26) for a subtree path without its trailing slash, and for a path that is not clean. */
export function movedTo(location: string): Reply {
  const escapedLocation = location.replaceAll(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
  return {
    status: 307,
    headers: { 'Content-Type': 'text/html; charset=utf-8', Location: location },
    body: `<a href="${escapedLocation}">Temporary Redirect</a>.\n\n`,
  };
}

/** go-restful's plain message, without a trailing newline. */
export function message(status: number, body: string): Reply {
  return { status, headers: plainText, body };
}

/** go-restful's response; upstream serves the paths of API objects with it. */
export function methodNotAllowed(allow: string): Reply {
  return { status: 405, headers: { ...plainText, Allow: allow }, body: '405: Method Not Allowed' };
}
export function notAcceptable(available: string): Reply {
  return message(406, `406: Not Acceptable\n\nAvailable representations: ${available}`);
}
export const restfulNotFound: Reply = message(404, '404: Page Not Found');

/** Reports whether a client accepts a type by its exact name or by a full wildcard. go-restful does not support `application/*`. */
export function accepts(accept: string | undefined, contentType: string): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  const types = accept.split(',').map((part) => part.split(';', 1)[0]?.trim());
  return types.includes('*/*') || types.includes(contentType);
}
