import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { NetworkChains } from '../../../../src/main/network-chains/index.ts';
import type { RunIPTablesResult, RunIPTablesTask } from '../../../../src/shared/contracts/pod-sync/iptables.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';

/** A host's packet filter: the chains and rules of each table and family. */
class FakeIPTables {
  readonly chains = new Set(['IPv4', 'IPv6'].map((family) => `${family} nat POSTROUTING`));
  readonly rules: string[] = [];
  readonly commands: string[] = [];
  /** The result of each command, instead of the host's. */
  broken: RunIPTablesResult | null = null;

  readonly run = async ({ family, args }: RunIPTablesTask): Promise<RunIPTablesResult> => {
    this.commands.push([family, ...args].join(' '));
    if (this.broken) return this.broken;
    if (args[0] === '--version') return { result: 'exited', code: 0, output: 'iptables v1.8.9 (nf_tables)' };
    const [wait, seconds, operation = '', chain = '', , table = '', ...rule] = args;
    assert.deepEqual([wait, seconds], ['-w', '5']);
    return { result: 'exited', code: this.#apply(operation, `${family} ${table} ${chain}`, rule.join(' ')), output: '' };
  };

  /** Returns the exit code. */
  #apply(operation: string, chain: string, rule: string): number {
    const line = `${chain} ${rule}`;
    if (operation === '-S') return this.chains.has(chain) ? 0 : 1;
    if (operation === '-C') return this.rules.includes(line) ? 0 : 1;
    if (operation === '-N') {
      if (this.chains.has(chain)) return 1;
      this.chains.add(chain);
    } else if (operation === '-I') this.rules.unshift(line);
    else this.rules.push(line);
    return 0;
  }

  flush(...tables: readonly string[]): void {
    for (const chain of this.chains) {
      if (tables.some((table) => chain.includes(` ${table} KUBE`))) this.chains.delete(chain);
    }
    this.rules.length = 0;
  }
}

function aNode(t: TestContext, broken: RunIPTablesResult | null = null) {
  const clock = new FakeClock();
  const iptables = new FakeIPTables();
  iptables.broken = broken;
  const recorded = aLogger();
  const chains = new NetworkChains({ run: iptables.run, clock, logger: recorded.logger });
  t.after(() => chains.close());
  chains.start();
  return { clock, iptables, messages: () => recorded.lines.map(({ msg }) => msg), chains };
}

const allChains = [
  'IPv4 filter KUBE-FIREWALL',
  'IPv4 filter KUBE-KUBELET-CANARY',
  'IPv4 mangle KUBE-IPTABLES-HINT',
  'IPv4 mangle KUBE-KUBELET-CANARY',
  'IPv4 nat KUBE-KUBELET-CANARY',
  'IPv4 nat POSTROUTING',
  'IPv6 filter KUBE-KUBELET-CANARY',
  'IPv6 mangle KUBE-IPTABLES-HINT',
  'IPv6 mangle KUBE-KUBELET-CANARY',
  'IPv6 nat KUBE-KUBELET-CANARY',
  'IPv6 nat POSTROUTING',
];

const allRules = [
  'IPv4 filter INPUT -j KUBE-FIREWALL',
  'IPv4 filter OUTPUT -j KUBE-FIREWALL',
  'IPv4 filter KUBE-FIREWALL -m comment --comment block incoming localnet connections --dst 127.0.0.0/8 ! --src 127.0.0.0/8 ' +
    '-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
];

test('the chains and rules of both families are created once', async (t) => {
  const { clock, iptables } = aNode(t);
  await clock.advance(0);
  assert.deepEqual([...iptables.chains].toSorted(), allChains);
  assert.deepEqual(iptables.rules, allRules);
  const created = iptables.commands.length;
  await clock.advance(60_000);
  assert.deepEqual(iptables.commands.slice(created).toSorted(), [
    'IPv4 -w 5 -S KUBE-KUBELET-CANARY -t mangle',
    'IPv6 -w 5 -S KUBE-KUBELET-CANARY -t mangle',
  ]);
});

test('existing chains and rules are left as they are', async (t) => {
  const { clock, iptables, chains } = aNode(t);
  await clock.advance(0);
  chains.close();
  const next = new NetworkChains({ run: iptables.run, clock, logger: aLogger().logger });
  t.after(() => next.close());
  next.start();
  await clock.advance(0);
  assert.deepEqual(iptables.rules, allRules);
});

test('a flush is noticed within a minute, and the chains return when all tables are flushed', async (t) => {
  const { clock, iptables } = aNode(t);
  await clock.advance(0);
  iptables.flush('mangle');
  await clock.advance(60_000);
  assert.deepEqual(iptables.rules, []);
  iptables.flush('nat', 'filter');
  await clock.advance(100);
  assert.deepEqual([...iptables.chains].toSorted(), allChains);
  assert.deepEqual(iptables.rules, allRules);
});

test('a flush of one table is waited for five seconds only', async (t) => {
  const { clock, iptables, messages } = aNode(t);
  await clock.advance(0);
  iptables.flush('mangle');
  await clock.advance(65_100);
  assert.deepEqual([...iptables.chains].toSorted(), allChains);
  assert.ok(messages().includes('Inconsistent iptables state detected'));
});

test('a host without iptables is left alone', async (t) => {
  const { clock, iptables, messages } = aNode(t, { result: 'not found' });
  await clock.advance(600_000);
  assert.deepEqual(iptables.commands, ['IPv4 --version', 'IPv6 --version']);
  assert.deepEqual(messages(), ['No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain']);
});

test('a kernel without the tables counts as a host without iptables', async (t) => {
  const { clock, iptables, messages } = aNode(t);
  iptables.chains.clear();
  await clock.advance(600_000);
  assert.deepEqual([...iptables.chains], []);
  assert.deepEqual(messages(), ['No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain']);
});

for (const [name, broken] of [
  ['the lock is held', { result: 'exited', code: 4, output: 'Another app is currently holding the xtables lock.' }],
  ['a command hangs', { result: 'failed', message: 'did not end within 60 s' }],
] as const) {
  test(`chains are created later when ${name}; the failure is one line of each family`, async (t) => {
    const { clock, iptables, messages } = aNode(t);
    await clock.advance(0);
    iptables.flush('mangle', 'nat', 'filter');
    iptables.broken = broken;
    await clock.advance(300_000);
    assert.equal(messages().filter((text) => text === 'Could not check for iptables canary').length, 2);
    iptables.broken = null;
    await clock.advance(61_000);
    assert.deepEqual([...iptables.chains].toSorted(), allChains);
  });
}

test('a closed part runs no further command', async (t) => {
  const { clock, iptables, chains } = aNode(t);
  await clock.advance(0);
  chains.close();
  const before = iptables.commands.length;
  await clock.advance(600_000);
  assert.equal(iptables.commands.length, before);
});
