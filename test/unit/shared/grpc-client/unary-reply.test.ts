/** Replies of gRPC servers as messages or failures. */
import assert from 'node:assert/strict';
import { frameMessage } from '../../../../src/shared/grpc-client/frame.ts';
import { unaryReply, type ReceivedReply } from '../../../../src/shared/grpc-client/unary-reply.ts';
import { isFinalError, RpcError } from '../../../../src/shared/grpc-client/index.ts';
import { table } from '../../../support/table.ts';

const ok: ReceivedReply = { headers: { ':status': 200 }, trailers: { 'grpc-status': '0' }, body: frameMessage(Buffer.from('m')) };

table('a reply', (row) => {
  row('has the message', () => assert.equal(unaryReply(ok).toString(), 'm'));
  const failures: [name: string, changes: Partial<ReceivedReply>, want: RegExp][] = [
    [
      'fails with the status',
      { trailers: { 'grpc-status': '5', 'grpc-message': 'no%20volume' } },
      /^rpc error: code = NotFound desc = no volume$/,
    ],
    [
      'fails with a text that is not encoded',
      { trailers: { 'grpc-status': '13', 'grpc-message': '100%' } },
      /code = Internal desc = 100%$/,
    ],
    ['fails with an unknown status', { trailers: { 'grpc-status': 'x' } }, /code = Unknown/],
    ['fails without trailers', { trailers: undefined }, /without sending trailers/],
    ['fails with a status of HTTP', { headers: { ':status': 404 } }, /unexpected HTTP status code received from server: 404/],
    ['fails without a message', { body: Buffer.alloc(0) }, /has no message/],
    ['fails with two messages', { body: Buffer.concat([ok.body, ok.body]) }, /not exactly one message/],
    ['fails when it is compressed', { body: Buffer.from([1, 0, 0, 0, 0]) }, /compressed/],
  ];
  for (const [name, changes, message] of failures) row(name, () => assert.throws(() => unaryReply({ ...ok, ...changes }), { message }));
});

table('a failed operation', (row) => {
  row('has ended after INTERNAL', () => assert.equal(isFinalError(new RpcError(13, '')), true));
  for (const code of [1, 4, 8, 10, 14]) row(`may go on after ${code}`, () => assert.equal(isFinalError(new RpcError(code, '')), false));
  row('may go on after a reply that is no message', () => assert.equal(isFinalError(new Error('broken')), false));
  row('has a text that is cut', () => assert.ok(new RpcError(13, 'x'.repeat(1e6)).message.length < 1100));
  row('does not have the secrets that the driver quotes, also where it is cut', () => {
    const err = new RpcError(13, `${'x'.repeat(1000)}geheim geheimer`).without(['geheim', '', 'geheimer']);
    assert.doesNotMatch(err.message, /geh/);
  });
});
