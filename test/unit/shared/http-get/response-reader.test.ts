import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResponseError } from '../../../../src/shared/http-get/response-error.ts';
import { ResponseReader } from '../../../../src/shared/http-get/response-reader.ts';
import { table } from '../../../support/table.ts';

/** Reads the response in pieces of `pieceLength`, then the end of the connection. Returns a summary, or the error's message. */
function read(response: string, pieceLength: number): string {
  const reader = new ResponseReader();
  const bytes = Buffer.from(response, 'latin1');
  const summary = () => `${reader.statusCode} ${reader.location}|${reader.bodyText}`;
  try {
    for (let offset = 0; offset < bytes.length; offset += pieceLength)
      if (reader.read(bytes.subarray(offset, offset + pieceLength))) return summary();
    reader.end();
    return `${summary()} at the end`;
  } catch (err) {
    if (!(err instanceof ResponseError)) throw err;
    return `${err.inBody ? 'in the body: ' : ''}${err.message.replace('net/http: HTTP/1.x transport connection broken: ', '…')}`;
  }
}

const ok = 'HTTP/1.1 200 OK\r\n';
const cases: readonly [name: string, response: string, want: string][] = [
  ['content length', `${ok}Content-Length: 2\r\n\r\nok`, '200 |'],
  ['no body', `${ok}Content-Length: 0\r\n\r\n`, '200 |'],
  ['line feeds only', 'HTTP/1.1 204 No Content\n\n', '204 |'],
  ['a body until the end', `${ok}\r\nhello`, '200 | at the end'],
  ['HTTP/1.0 without a reason', 'HTTP/1.0 200\r\n\r\n', '200 | at the end'],
  ['a redirect with its body', 'HTTP/1.1 302 Found\r\nlocation:  /a \r\nContent-Length: 3\r\n\r\nabc', '302 /a|abc'],
  ['304 has no body', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n', '304 |'],
  ['an interim response', `HTTP/1.1 103 Early Hints\r\nLocation: /x\r\n\r\n${ok}Content-Length: 0\r\n\r\n`, '200 |'],
  ['101 is final', 'HTTP/1.1 101 Switching\r\n\r\n', '101 |'],
  ['chunks', `${ok}Transfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`, '200 |'],
  ['chunks of a redirect', 'HTTP/1.1 307 T\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n', '307 |abcde'],
  ['more than the limit of a body', `${ok}Content-Length: 999999\r\n\r\n${'x'.repeat(20_000)}`, '200 |'],
  ['more than the limit in chunks', `${ok}Transfer-Encoding: chunked\r\n\r\nfffff\r\n${'x'.repeat(20_000)}`, '200 |'],
  ['a kept body is cut', `HTTP/1.1 302 F\r\n\r\n${'x'.repeat(20_000)}`, `302 |${'x'.repeat(10_240)}`],
  ['a continued header', `${ok}A: b\r\n\tc\r\nContent-Length: 0\r\n\r\n`, '200 |'],
  ['nothing', '', 'EOF'],
  ['half a status line', 'HTTP/1.1 200', '…unexpected EOF'],
  ['text without a line end', 'hello world', '…malformed HTTP status code "world"'],
  ['half the headers', `${ok}A: b\r\n`, '…unexpected EOF'],
  ['half a body', `${ok}Content-Length: 5\r\n\r\nabc`, 'in the body: unexpected EOF'],
  ['no last chunk', `${ok}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`, 'in the body: unexpected EOF'],
  ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', '…malformed HTTP response "SSH-2.0-OpenSSH_9.2"'],
  ['another version text', 'HTTX/1.1 200 OK\r\n', '…malformed HTTP version "HTTX/1.1"'],
  ['a status that is no number', 'HTTP/1.1 abc OK\r\n', '…malformed HTTP status code "abc"'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n', '…malformed HTTP status code "20"'],
  ['a header without a colon', `${ok}hello\r\n\r\n`, '…malformed MIME header: missing colon: "hello"'],
  ['a bad length', `${ok}Content-Length: -1\r\n\r\n`, '…bad Content-Length "-1"'],
  [
    'two lengths',
    `${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
    '…http: message cannot contain multiple Content-Length headers; got ["1" "2"]',
  ],
  ['a length beyond 63 bits', `${ok}Content-Length: 99999999999999999999\r\n\r\n`, '…bad Content-Length "99999999999999999999"'],
  ['two encodings', `${ok}${'Transfer-Encoding: chunked\r\n'.repeat(2)}\r\n`, '…too many transfer encodings: ["chunked" "chunked"]'],
  ['a header without a name', `${ok}: b\r\n\r\n`, '…malformed MIME header line: ": b"'],
  ['a control character', `${ok}Location: /a\x01\r\n\r\n`, String.raw`…malformed MIME header line: "Location: /a\x01"`],
  ['a continuation of nothing', `${ok} b\r\n\r\n`, '…malformed MIME header initial line: " b"'],
  ['a space after a name', `${ok}A : b\r\nContent-Length: 0\r\n\r\n`, '200 |'],
  ['a status below 100 is final', 'HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n', '99 |'],
  ['a chunk of 17 digits', `${ok}Transfer-Encoding: chunked\r\n\r\n${'f'.repeat(17)}\r\n`, 'in the body: http chunk length too large'],
  ['another encoding', `${ok}Transfer-Encoding: gzip\r\n\r\n`, '…unsupported transfer encoding: "gzip"'],
  ['a bad chunk size', `${ok}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`, 'in the body: invalid byte in chunk length'],
  [
    'a chunk that is longer than its size',
    `${ok}Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n`,
    'in the body: malformed chunked encoding',
  ],
  ['an endless chunk size', `${ok}Transfer-Encoding: chunked\r\n\r\n${'1'.repeat(5000)}`, 'in the body: header line too long'],
  ['endless headers', `${ok}${'A: b\r\n'.repeat(20_000)}`, '…net/http: server response headers exceeded 65536 bytes; aborted'],
  ['an endless line', `HTTP/1.1 ${'2'.repeat(100_000)}`, '…net/http: server response headers exceeded 65536 bytes; aborted'],
];

for (const pieceLength of [1, 7, 65_536]) {
  table(`a response in pieces of ${pieceLength}`, (row) => {
    for (const [name, response, want] of cases) row(name, () => assert.equal(read(response, pieceLength), want));
  });
}

test('random bytes end with a response or a ResponseError', () => {
  let seed = 11;
  const random = (below: number) => (seed = (seed * 16_807) % 2_147_483_647) % below;
  const pieces = ['HTTP/1.1 ', '200', ' ', '\r\n', '\n', ':', 'Content-Length', '5', 'Transfer-Encoding: chunked', '\0', 'ÿ', 'Location: '];
  for (let i = 0; i < 3000; i += 1) read(Array.from({ length: random(30) }, () => pieces[random(pieces.length)]).join(''), 1 + random(9));
});
