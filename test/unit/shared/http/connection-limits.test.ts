import assert from 'node:assert/strict';
import {
  addressKey,
  computeAuthorizedEviction,
  computeEviction,
  type ServerConnection,
} from '../../../../src/shared/http/connection-limits.ts';
import { table } from '../../../support/table.ts';

const nowMs = 100_000;
const limits = { unauthorized: 4, unauthorizedPerAddress: 3, authorized: 2 };

interface Named extends ServerConnection {
  readonly name: string;
}
const aConnection = (name: string, address: string, over: Partial<ServerConnection> & { readonly agoMs?: number } = {}): Named => {
  const { agoMs = 10_000, ...rest } = over;
  return { name, address, isAuthorized: false, state: 'idle', stateSinceMs: nowMs - agoMs, ...rest };
};
const aNewConnection = (address: string) => aConnection('new', address, { agoMs: 0 });

const evictions: { name: string; before: Named[]; from: string; want: string | null }[] = [
  { name: 'no connection ends below the limits', before: [aConnection('a', '1')], from: '1', want: null },
  {
    name: 'authorized connections do not count',
    before: ['a', 'b', 'c', 'd', 'e'].map((name) => aConnection(name, '1', { isAuthorized: true })),
    from: '1',
    want: null,
  },
  {
    name: 'an address at its limit loses its own oldest idle connection',
    before: [
      aConnection('other', '2', { agoMs: 50_000 }),
      aConnection('a', '1', { agoMs: 5_000 }),
      aConnection('b', '1', { agoMs: 6_000 }),
      aConnection('c', '1', { agoMs: 4_000 }),
    ],
    from: '1',
    want: 'b',
  },
  {
    name: 'a server at its limit ends a connection of the address with the most connections',
    before: [
      aConnection('old', '2', { agoMs: 50_000 }),
      aConnection('a', '1'),
      aConnection('b', '1', { agoMs: 20_000 }),
      aConnection('c', '1'),
    ],
    from: '3',
    want: 'b',
  },
  {
    name: 'an idle connection ends before a handshaking one and a busy one',
    before: [
      aConnection('busy', '1', { state: 'busy', agoMs: 30_000 }),
      aConnection('shake', '1', { state: 'handshaking', agoMs: 20_000 }),
      aConnection('idle', '1', { agoMs: 2_000 }),
    ],
    from: '1',
    want: 'idle',
  },
  {
    name: 'a slow handshake ends before a busy connection',
    before: [
      aConnection('busy', '1', { state: 'busy', agoMs: 30_000 }),
      aConnection('shake', '1', { state: 'handshaking', agoMs: 5_000 }),
      aConnection('busy too', '1', { state: 'busy' }),
    ],
    from: '1',
    want: 'shake',
  },
  {
    name: 'an old busy connection ends before one that has just become idle',
    before: [
      aConnection('busy', '1', { state: 'busy', agoMs: 2_000 }),
      aConnection('ready', '1', { agoMs: 20 }),
      aConnection('busy too', '1', { state: 'busy', agoMs: 100 }),
    ],
    from: '1',
    want: 'busy',
  },
  {
    name: 'of recent connections the oldest one ends, never the new one',
    before: [
      aConnection('a', '1', { agoMs: 20 }),
      aConnection('b', '1', { agoMs: 30, state: 'busy' }),
      aConnection('c', '1', { agoMs: 10 }),
    ],
    from: '1',
    want: 'b',
  },
];
table('the connection that ends for a new one', (row) => {
  for (const { name, before, from, want } of evictions) {
    const one = aNewConnection(from);
    row(name, () => assert.equal(computeEviction([...before, one], one, limits, nowMs)?.name ?? null, want));
  }
});

table('the authorized connection that ends for another one', (row) => {
  const anAuthorized = (name: string, over: Partial<ServerConnection> & { readonly agoMs?: number } = {}) =>
    aConnection(name, '1', { ...over, isAuthorized: true });
  const pick = (connections: Named[]) => computeAuthorizedEviction(connections, nowMs)?.name ?? null;
  row('the one that was idle for the longest time', () =>
    assert.equal(pick([anAuthorized('a'), anAuthorized('b', { agoMs: 20_000 }), aConnection('unauthorized', '1', { agoMs: 90_000 })]), 'b'),
  );
  row('none that is in use', () => assert.equal(pick([anAuthorized('a', { state: 'busy' }), aConnection('unauthorized', '1')]), null));
});

table('the address that a limit counts', (row) => {
  const addresses: [string | undefined, string][] = [
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::5', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    [undefined, ''],
  ];
  for (const [address, want] of addresses) row(String(address), () => assert.equal(addressKey(address), want));
});
