/** An answer before it is sent, and the answers that Go's HTTP server and go-restful give for what is not there. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const plain = { 'Content-Type': 'text/plain; charset=utf-8' };

export function ok(body: string, contentType = plain['Content-Type']): Reply {
  return { status: 200, headers: { 'Content-Type': contentType }, body };
}

/** The connection ends with it. */
export function withConnectionClose(reply: Reply): Reply {
  return { ...reply, headers: { ...reply.headers, Connection: 'close' } };
}

/** As Go's http.Error. */
export function error(status: number, message: string): Reply {
  return { status, headers: { ...plain, 'X-Content-Type-Options': 'nosniff' }, body: `${message}\n` };
}

/** As Go's mux, for a path that nobody serves. */
export const notFound: Reply = error(404, '404 page not found');

/** As Go's HTTP server, for a request that it can't read. */
export const badRequest: Reply = { status: 400, headers: { ...plain, Connection: 'close' }, body: '400 Bad Request' };

/** As Go's mux (1.26), for a folder without its slash, and for a path that is not clean. */
export function movedTo(location: string): Reply {
  const shown = location.replaceAll(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
  return {
    status: 307,
    headers: { 'Content-Type': 'text/html; charset=utf-8', Location: location },
    body: `<a href="${shown}">Temporary Redirect</a>.\n\n`,
  };
}

/** As go-restful writes a message: no end of line. */
export function message(status: number, body: string): Reply {
  return { status, headers: plain, body };
}

/** As go-restful, which serves the paths of the API objects. */
export function methodNotAllowed(allow: string): Reply {
  return { status: 405, headers: { ...plain, Allow: allow }, body: '405: Method Not Allowed' };
}
export function notAcceptable(available: string): Reply {
  return message(406, `406: Not Acceptable\n\nAvailable representations: ${available}`);
}
export const restfulNotFound: Reply = message(404, '404: Page Not Found');

/** Whether a client takes a type: its exact name, or anything at all (go-restful knows no `application/*`). */
export function accepts(accept: string | undefined, contentType: string): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  const types = accept.split(',').map((part) => part.split(';', 1)[0]?.trim());
  return types.includes('*/*') || types.includes(contentType);
}
