import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBearerToken, parseWebSocketToken, withoutToken } from '../../../../../src/workers/server/auth/bearer-token.ts';
import { authenticateCertificate, type PeerCertificate } from '../../../../../src/workers/server/auth/client-certificate.ts';
import { ExpiringCache } from '../../../../../src/workers/server/auth/expiring-cache.ts';
import { anonymous, withAuthenticatedGroup } from '../../../../../src/workers/server/auth/user.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { table } from '../../../../support/table.ts';

const headers: [header: string | undefined, token: string | null][] = [
  [undefined, null],
  ['', null],
  ['Bearer abc', 'abc'],
  ['  bearer abc def', 'abc'],
  ['Bearer  abc', null],
  ['Bearer', null],
  ['Basic abc', null],
];
table('the token that an Authorization header carries', (row) => {
  for (const [header, token] of headers) {
    row(`the Authorization header ${JSON.stringify(header)} carries ${token ?? 'no token'}`, () =>
      assert.equal(parseBearerToken(header), token),
    );
  }
});

const encoded = (token: string) => `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
const webSocket = { upgrade: 'WebSocket', connection: 'keep-alive, Upgrade' };
const protocols: { name: string; protocols: string; want: object | null }[] = [
  { name: 'a token among protocols is taken', protocols: `v5.channel.k8s.io, ${encoded('abc')}`, want: { token: 'abc' } },
  { name: 'protocols without a token have none', protocols: 'v5.channel.k8s.io', want: null },
  { name: 'an empty token is none', protocols: `v5.channel.k8s.io,${encoded('')}`, want: null },
  { name: 'a token needs another protocol', protocols: encoded('abc'), want: { fault: 'missing additional subprotocol' } },
  {
    name: 'two tokens are refused',
    protocols: `a,${encoded('b')},${encoded('c')}`,
    want: { fault: 'multiple base64.bearer.authorization tokens specified' },
  },
  {
    name: 'invalid base64 is refused',
    protocols: `a,${encoded('b')}=`,
    want: { fault: 'invalid base64.bearer.authorization token encoding' },
  },
];
table('the token in a WebSocket', (row) => {
  for (const { name, protocols: given, want } of protocols) {
    row(`in a WebSocket ${name}`, () => assert.deepEqual(parseWebSocketToken({ ...webSocket, protocols: given }), want));
  }
});
test('only a WebSocket may have a token among its protocols, and the token is removed', () => {
  assert.equal(parseWebSocketToken({ protocols: `a,${encoded('abc')}` }), null);
  assert.equal(withoutToken(`a, ${encoded('abc')} ,b`), 'a,b');
});

const now = Date.parse('2026-06-01T00:00:00Z');
const types = { CN: '2.5.4.3', O: '2.5.4.10', UID: '1.3.6.1.4.1.57683.2' };
type Subject = readonly (readonly [type: keyof typeof types, value: string])[];
const peer = ({ subject, ...over }: Partial<PeerCertificate> & { subject?: Subject } = {}): PeerCertificate => ({
  fault: '',
  generation: 3,
  certificate: {
    validFromMs: Date.parse('2026-05-31T00:00:00Z'),
    validToMs: Date.parse('2026-06-02T00:00:00Z'),
    serialNumber: '0A',
    fingerprint256: 'AB:CD',
    subject: (
      subject ?? [
        ['CN', 'jane'],
        ['O', 'dev'],
        ['O', 'ops'],
      ]
    ).map(([type, value]) => ({ type: types[type], value })),
  },
  ...over,
});
const certificates: { name: string; peer: PeerCertificate; generation?: number; nowMs?: number; want: string }[] = [
  { name: 'names a user and groups', peer: peer(), want: 'user jane dev,ops ' },
  {
    name: 'of one group',
    peer: peer({
      subject: [
        ['CN', 'jane'],
        ['O', 'dev'],
      ],
    }),
    want: 'user jane dev ',
  },
  {
    name: 'with several common names uses the last one',
    peer: peer({
      subject: [
        ['CN', 'a'],
        ['CN', 'b'],
      ],
    }),
    want: 'user b  ',
  },
  {
    name: 'may have a UID',
    peer: peer({
      subject: [
        ['CN', 'a'],
        ['UID', 'u1'],
      ],
    }),
    want: 'user a  u1',
  },
  {
    name: 'with two UIDs is refused',
    peer: peer({
      subject: [
        ['CN', 'a'],
        ['UID', 'u1'],
        ['UID', 'u2'],
      ],
    }),
    want: 'error',
  },
  { name: 'without a common name is ignored', peer: peer({ subject: [['O', 'dev']] }), want: 'none' },
  { name: 'that was not verified is refused', peer: peer({ fault: 'CERT_SIGNATURE_FAILURE' }), want: 'error' },
  { name: 'verified against replaced client CAs is refused', peer: peer({ generation: 2 }), want: 'error' },
  { name: 'is ignored without client CAs', peer: peer({ generation: 0 }), generation: 0, want: 'none' },
  { name: 'that expired during the connection is refused', peer: peer(), nowMs: now + 2 * 86_400_000, want: 'error' },
  { name: 'that was not sent is ignored', peer: { certificate: null, fault: 'x', generation: 3 }, want: 'none' },
];
table('a client’s certificate', (row) => {
  for (const { name, peer: peerCertificate, generation = 3, nowMs = now, want } of certificates) {
    row(`a certificate ${name}`, () => {
      const result = authenticateCertificate(peerCertificate, generation, nowMs);
      const got = result.type === 'user' ? `user ${result.user.name} ${result.user.groups.join()} ${result.user.uid}` : result.type;
      assert.equal(got, want);
    });
  }
});

test('an authenticated user gets the group system:authenticated, an anonymous one does not', () => {
  const user = { name: 'jane', uid: '', groups: ['dev'], extra: {} };
  assert.deepEqual(withAuthenticatedGroup(user).groups, ['dev', 'system:authenticated']);
  const already = { ...user, groups: ['system:authenticated'] };
  assert.equal(withAuthenticatedGroup(already), already);
  assert.equal(withAuthenticatedGroup(anonymous), anonymous);
});

test('a cache entry expires after its TTL, and the least recently used one is evicted at the capacity', async () => {
  const clock = new FakeClock();
  const cache = new ExpiringCache<number>(clock, 2);
  cache.set('a', 1, 1000);
  cache.set('b', 2, 5000);
  cache.set('never', 3, 0);
  assert.deepEqual([cache.get('a'), cache.get('never'), cache.size], [1, undefined, 2]);
  cache.set('c', 3, 5000);
  assert.deepEqual([cache.get('a'), cache.get('b'), cache.get('c')], [1, undefined, 3]);
  await clock.advance(1000);
  assert.deepEqual([cache.get('a'), cache.get('c')], [undefined, 3]);
});
