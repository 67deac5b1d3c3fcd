import assert from 'node:assert/strict';
import { CriError, grpcCode } from '../../../../../src/shared/cri/cri-error.ts';
import { pullFailure, PullMessages } from '../../../../../src/workers/images/pulls/pull-failure.ts';
import { table } from '../../../../support/table.ts';

const { UNKNOWN, NOT_FOUND, UNAVAILABLE } = grpcCode;
table('the reason and the message of a failed pull', (row) => {
  const rows: [name: string, err: Error, reason: string, message: string][] = [
    [
      'the registry is unavailable',
      new CriError('PullImage', UNKNOWN, 'RegistryUnavailable: no route'),
      'RegistryUnavailable',
      'image pull failed for r/i:1 because the registry is unavailable: no route',
    ],
    [
      'a signature is not accepted',
      new CriError('PullImage', UNKNOWN, 'SignatureValidationFailed'),
      'SignatureValidationFailed',
      'image pull failed for r/i:1 because the signature validation failed',
    ],
    [
      'all pull secrets fail with one message',
      new Error('RegistryUnavailable: no route'),
      'RegistryUnavailable',
      'image pull failed for r/i:1 because the registry is unavailable: no route',
    ],
    [
      'the code Unknown is left out',
      new CriError('PullImage', UNKNOWN, '503 Service Unavailable'),
      'ErrImagePull',
      '503 Service Unavailable',
    ],
    [
      'another code stays',
      new CriError('PullImage', NOT_FOUND, 'r/i:1: not found'),
      'ErrImagePull',
      'rpc error: code = NotFound desc = r/i:1: not found',
    ],
    [
      'a reason counts with the code Unknown only',
      new CriError('PullImage', UNAVAILABLE, 'RegistryUnavailable: x'),
      'ErrImagePull',
      'rpc error: code = Unavailable desc = RegistryUnavailable: x',
    ],
    [
      'a reason counts at the beginning only',
      new CriError('PullImage', UNKNOWN, 'x: RegistryUnavailable'),
      'ErrImagePull',
      'x: RegistryUnavailable',
    ],
  ];
  for (const [name, err, reason, message] of rows) row(name, () => assert.deepEqual(pullFailure('r/i:1', err), { reason, message }));
});

table('a pull that fails with each credential', (row) => {
  const textOf = (...errors: readonly Error[]) => {
    const messages = new PullMessages();
    for (const err of errors) messages.add(err);
    return messages.toString();
  };
  const unknown = (details: string) => new CriError('PullImage', UNKNOWN, details);
  row('one message stays itself', () => assert.equal(textOf(unknown('no'), unknown('no')), 'no'));
  row('different messages are a list', () =>
    assert.equal(textOf(unknown('no'), new CriError('PullImage', NOT_FOUND, 'gone')), '[no, rpc error: code = NotFound desc = gone]'),
  );
  row('a registry that writes much is cut', () => {
    const long = pullFailure('r/i:1', unknown('x'.repeat(60_000))).message;
    assert.ok(long.length < 10_000 && long.endsWith('x…'), String(long.length));
    const many = textOf(...Array.from({ length: 1000 }, (_, index) => unknown(`${index} ${'x'.repeat(60_000)}`)));
    assert.ok(many.length < 10_000 && many.startsWith('0 xxx'), String(many.length));
  });
});
