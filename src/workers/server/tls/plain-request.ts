/** The response to a client that sends plain HTTP to the secure port. */
import type { Socket } from 'node:net';

/** Upstream: net/http/server.go, (*conn).serve. */
const reply = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

/**
 * Writes Go's answer to a request without TLS. OpenSSL recognizes the methods GET, HEAD, POST and PUT.
 * @param tcpSocket the socket below TLS, which the TLS socket destroys afterwards
 */
export function answerPlainRequest(err: NodeJS.ErrnoException, tcpSocket: Socket | undefined): void {
  if (err.code === 'ERR_SSL_HTTP_REQUEST' && tcpSocket?.writable) tcpSocket.end(reply);
}
