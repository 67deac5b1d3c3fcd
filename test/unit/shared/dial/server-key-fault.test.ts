import assert from 'node:assert/strict';
import type { TLSSocket } from 'node:tls';
import { serverKeyFault } from '../../../../src/shared/dial/tls-connection.ts';
import { table } from '../../../support/table.ts';

const tooLong = 'tls: server sent certificate containing RSA key larger than 8192 bits';
const cases: [name: string, modulusLength: number | undefined, receivedBytes: number, want: string | undefined][] = [
  ['8,192 bits', 8192, 5000, undefined],
  ['8,193 bits', 8193, 5000, tooLong],
  ['an elliptic curve', undefined, 5000, undefined],
  ['a handshake that is too short for such a key', 8193, 2000, undefined],
];
table('the key of a server', (row) => {
  for (const [name, modulusLength, count, want] of cases) {
    row(`a server's key: ${name}`, () => {
      const certificate = { publicKey: { asymmetricKeyDetails: { modulusLength } } };
      const socket = { getPeerX509Certificate: () => certificate } as unknown as TLSSocket;
      assert.equal(serverKeyFault(socket, { first: Buffer.alloc(0), count }), want);
    });
  }
});
