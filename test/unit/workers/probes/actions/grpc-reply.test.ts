import assert from 'node:assert/strict';
import {
  bodyFault,
  computeReply,
  headersFault,
  type ReplyHeaders,
  type GrpcStreamEnd,
} from '../../../../../src/workers/probes/actions/grpc-reply.ts';
import { table } from '../../../../support/table.ts';

const headers: ReplyHeaders = { ':status': 200, 'content-type': 'application/grpc' };
const serving = [0, 0, 0, 0, 2, 8, 1];
const text = (reply: ReturnType<typeof computeReply> | undefined) =>
  typeof reply === 'object' ? `${reply.code}: ${reply.details}` : String(reply);

// grpc-go 1.79 was asked the same.
table('the reply of a health server', (row) => {
  const cases: readonly [string, readonly number[], Partial<GrpcStreamEnd>, string][] = [
    ['serving', serving, {}, 'SERVING'],
    ['an empty message', [0, 0, 0, 0, 0], {}, 'UNKNOWN'],
    ['an unknown status', [0, 0, 0, 0, 2, 8, 7], {}, '7'],
    ['an error', [], { trailers: { 'grpc-status': '5', 'grpc-message': 'unknown%20serv%C3%A9 100%' } }, '5: unknown servé 100%'],
    ['an error after a message', serving, { trailers: { 'grpc-status': '14' } }, '14: '],
    ['an unknown code', [], { trailers: { 'grpc-status': '99', 'grpc-message': 'x' } }, '99: x'],
    [
      'a code that is no number',
      serving,
      { trailers: { 'grpc-status': 'abc' } },
      '2: transport: malformed grpc-status: strconv.ParseInt: parsing "abc": invalid syntax',
    ],
    ['trailers without a code', serving, { trailers: {} }, '2: '],
    ['no trailers', serving, { trailers: undefined }, '13: server closed the stream without sending trailers'],
    ['no message', [], {}, '13: cardinality violation: received no response message from non-server-streaming RPC'],
    ['half a message', [0, 0, 0, 0, 9, 8, 1], {}, '13: unexpected EOF'],
    [
      'a message that is no protobuf',
      [0, 0, 0, 0, 1, 8],
      {},
      '13: grpc: failed to unmarshal the received message: proto: cannot parse invalid wire-format data',
    ],
    ['a reset', [], { trailers: undefined, resetCode: 8 }, '1: stream terminated by RST_STREAM with error code: CANCEL'],
    [
      'an unknown reset',
      [],
      { trailers: undefined, resetCode: 77 },
      '2: stream terminated by RST_STREAM with error code: unknown error code 0x4d',
    ],
  ];
  for (const [name, body, end, want] of cases)
    row(name, () =>
      assert.equal(text(computeReply(Buffer.from(body), { headers, trailers: { 'grpc-status': '0' }, resetCode: 0, ...end })), want),
    );
});

table('a body that is refused before its end', (row) => {
  const cases: readonly [string, readonly number[], ReplyHeaders, string][] = [
    ['a whole message', serving, headers, 'undefined'],
    ['a long message', [0, 0, 80, 0, 0], headers, '8: grpc: received message larger than max (5242880 vs. 65536)'],
    ['a compressed message', [1, 0, 0, 0, 2], headers, '13: grpc: compressed flag set with identity or empty encoding'],
    [
      'an unknown compression',
      [1, 0, 0, 0, 2],
      { ...headers, 'grpc-encoding': 'gzip' },
      '13: grpc: Decompressor is not installed for grpc-encoding "gzip"',
    ],
    ['an unknown flag', [2, 0, 0, 0, 2], headers, '13: grpc: received unexpected payload format 2'],
    [
      'a second message',
      [...serving, ...serving],
      headers,
      '13: cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message',
    ],
  ];
  for (const [name, body, given, want] of cases) row(name, () => assert.equal(text(bodyFault(Buffer.from(body), given)), want));
});

table('headers of a server that does not speak gRPC', (row) => {
  const status = (code: number, reason: string) => `unexpected HTTP status code received from server: ${code} (${reason}); `;
  const cases: readonly [string, ReplyHeaders, string][] = [
    ['gRPC', { ':status': 200, 'content-type': 'application/grpc+proto' }, 'undefined'],
    [
      'a page',
      { ':status': 200, 'content-type': 'text/html' },
      `2: ${status(200, 'OK')}transport: received unexpected content-type "text/html"`,
    ],
    ['a page that is not found', { ':status': 404 }, `12: ${status(404, 'Not Found')}malformed header: missing HTTP content-type`],
    ['a busy proxy', { ':status': 503 }, `14: ${status(503, 'Service Unavailable')}malformed header: missing HTTP content-type`],
    [
      'a name that begins alike',
      { ':status': 200, 'content-type': 'application/grpcx' },
      `2: ${status(200, 'OK')}transport: received unexpected content-type "application/grpcx"`,
    ],
  ];
  for (const [name, given, want] of cases) row(name, () => assert.equal(text(headersFault(given)), want));
});
