/** Plain answers of the handlers that write to the response themselves. */
import type { ServerResponse } from 'node:http';

/** As go-restful's WriteError: the message and nothing else, of the type that Go's server finds in it. Nothing when the answer has begun. */
export function sendText(response: ServerResponse, status: number, message: string, headers: Readonly<Record<string, string>> = {}): void {
  if (response.headersSent || response.destroyed) return;
  const body = Buffer.from(message);
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': body.length, ...headers });
  response.end(body);
}
