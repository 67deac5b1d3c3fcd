import assert from 'node:assert/strict';
import {
  addressKey,
  computeAdmittedEviction,
  computeEviction,
  type ServerConnection,
} from '../../../../src/shared/http/connection-limits.ts';
import { table } from '../../../support/table.ts';

const nowMs = 100_000;
const limits = { unauthorized: 4, unauthorizedPerAddress: 3, authorized: 2 };

interface Named extends ServerConnection {
  readonly name: string;
}
const held = (name: string, address: string, over: Partial<ServerConnection> & { readonly agoMs?: number } = {}): Named => {
  const { agoMs = 10_000, ...rest } = over;
  return { name, address, isAuthorized: false, state: 'idle', stateSinceMs: nowMs - agoMs, ...rest };
};
const newcomer = (address: string) => held('new', address, { agoMs: 0 });

const evictions: { name: string; before: Named[]; from: string; want: string | null }[] = [
  { name: 'there is room', before: [held('a', '1')], from: '1', want: null },
  {
    name: 'admitted connections take no room',
    before: ['a', 'b', 'c', 'd', 'e'].map((name) => held(name, '1', { isAuthorized: true })),
    from: '1',
    want: null,
  },
  {
    name: 'an address that is full loses its own oldest idle one',
    before: [
      held('other', '2', { agoMs: 50_000 }),
      held('a', '1', { agoMs: 5_000 }),
      held('b', '1', { agoMs: 6_000 }),
      held('c', '1', { agoMs: 4_000 }),
    ],
    from: '1',
    want: 'b',
  },
  {
    name: 'a full server takes from the address that holds most, not from the oldest',
    before: [held('old', '2', { agoMs: 50_000 }), held('a', '1'), held('b', '1', { agoMs: 20_000 }), held('c', '1')],
    from: '3',
    want: 'b',
  },
  {
    name: 'idle before handshakes before requests under way',
    before: [
      held('busy', '1', { state: 'busy', agoMs: 30_000 }),
      held('shake', '1', { state: 'handshaking', agoMs: 20_000 }),
      held('idle', '1', { agoMs: 2_000 }),
    ],
    from: '1',
    want: 'idle',
  },
  {
    name: 'a handshake that takes long before a request under way',
    before: [
      held('busy', '1', { state: 'busy', agoMs: 30_000 }),
      held('shake', '1', { state: 'handshaking', agoMs: 5_000 }),
      held('busy too', '1', { state: 'busy' }),
    ],
    from: '1',
    want: 'shake',
  },
  {
    name: 'one that has just shaken hands may be about to ask: an old request goes first',
    before: [
      held('busy', '1', { state: 'busy', agoMs: 2_000 }),
      held('ready', '1', { agoMs: 20 }),
      held('busy too', '1', { state: 'busy', agoMs: 100 }),
    ],
    from: '1',
    want: 'busy',
  },
  {
    name: 'all are young: the oldest of them, never the new one',
    before: [held('a', '1', { agoMs: 20 }), held('b', '1', { agoMs: 30, state: 'busy' }), held('c', '1', { agoMs: 10 })],
    from: '1',
    want: 'b',
  },
];
table('which connection ends for a new one', (row) => {
  for (const { name, before, from, want } of evictions) {
    const one = newcomer(from);
    row(name, () => assert.equal(computeEviction([...before, one], one, limits, nowMs)?.name ?? null, want));
  }
});

table('which admitted connection ends for another', (row) => {
  const admitted = (name: string, over: Partial<ServerConnection> & { readonly agoMs?: number } = {}) =>
    held(name, '1', { ...over, isAuthorized: true });
  const pick = (connections: Named[]) => computeAdmittedEviction(connections, nowMs)?.name ?? null;
  row('the one that was idle for longest', () =>
    assert.equal(pick([admitted('a'), admitted('b', { agoMs: 20_000 }), held('stranger', '1', { agoMs: 90_000 })]), 'b'),
  );
  row('none that is in use', () => assert.equal(pick([admitted('a', { state: 'busy' }), held('stranger', '1')]), null));
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
