import assert from 'node:assert/strict';
import { handshakeEndText, tlsErrorText } from '../../../../src/shared/http-get/tls-error.ts';
import { table } from '../../../support/table.ts';

const bytes = (text: string | readonly number[]) => Buffer.from(text as string);
const sslError = (reason: string, code = 'EPROTO') =>
  Object.assign(new Error(`0:error:0A00:SSL routines:func:${reason}:file.c:1:`), { code });
const serverHello = [22, 3, 0, 0, 42, 2, 0, 0, 38, 3, 1];

table('Go’s text of an error of OpenSSL', (row) => {
  const wrongVersion = sslError('wrong version number', 'ERR_SSL_WRONG_VERSION_NUMBER');
  const cases: readonly [string, unknown, string | readonly number[], string | undefined][] = [
    ['HTTP', wrongVersion, 'HTTP/1.1 20', 'http: server gave HTTP response to HTTPS client'],
    ['SSH', wrongVersion, 'SSH-2.0-Ope', 'tls: first record does not look like a TLS handshake'],
    ['data before a handshake', sslError('unexpected message'), [23, 3, 3, 0, 5], 'tls: first record does not look like a TLS handshake'],
    ['a large record', sslError('packet length too long'), [22, 3, 3, 255, 255], 'tls: oversized record received with length 65535'],
    ['an old version', sslError('unsupported protocol'), serverHello, 'tls: server selected unsupported protocol version 301'],
    [
      'an alert',
      sslError('ssl/tls alert handshake failure:f.c:1:SSL alert number 40'),
      [21, 3, 3, 0, 2],
      'remote error: tls: handshake failure',
    ],
    ['an unknown alert', sslError('reason(1200):f.c:1:SSL alert number 200'), [21, 3, 3, 0, 2], 'remote error: tls: alert(200)'],
    ['a broken message', sslError('length mismatch'), [22, 3, 3, 0, 9], 'local error: tls: error decoding message'],
    ['another error', sslError('bad signature'), [22, 3, 3, 0, 9], 'tls: bad signature'],
    ['few bytes', wrongVersion, 'SSH', 'tls: wrong version number'],
    ['a reset connection', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }), '', undefined],
  ];
  for (const [name, err, first, want] of cases)
    row(name, () => assert.equal(tlsErrorText(err, { first: bytes(first), count: first.length }), want));
});

table('the server ends the connection in the handshake', (row) => {
  const cases: readonly [string, readonly number[], number, string][] = [
    ['at once', [], 0, 'EOF'],
    ['within a header', [22, 3], 2, 'unexpected EOF'],
    ['within a record', [22, 3, 3, 0, 100, 2], 6, 'unexpected EOF'],
    ['after a record', [21, 3, 3, 0, 2, 1, 0], 7, 'EOF'],
  ];
  for (const [name, first, count, want] of cases) row(name, () => assert.equal(handshakeEndText({ first: bytes(first), count }), want));
});
