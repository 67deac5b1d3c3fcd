/** Plain text responses of handlers that write the response themselves. */
import type { ServerResponse } from 'node:http';

/** Sends only the message, like go-restful's WriteError, with the content type that Go's server detects. Does nothing after the headers were sent. */
export function sendText(response: ServerResponse, status: number, message: string, headers: Readonly<Record<string, string>> = {}): void {
  if (response.headersSent || response.destroyed) return;
  const body = Buffer.from(message);
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': body.length, ...headers });
  response.end(body);
}
