/** The chains and rules that the kubelet keeps on the host, in the order of their creation. Upstream: syncIPTablesRules. */
import type { IPFamily } from '../../shared/contracts/pod-sync/iptables.ts';

export type Table = 'mangle' | 'nat' | 'filter';

export type ChainStep = { readonly table: Table; readonly chain: string; readonly failure: string } & (
  | { readonly ensure: 'chain' }
  | { readonly ensure: 'rule'; readonly position: 'first' | 'last'; readonly rule: readonly string[] }
);

const hint = 'KUBE-IPTABLES-HINT';
const firewall = 'KUBE-FIREWALL';

const hintSteps: readonly ChainStep[] = [
  { ensure: 'chain', table: 'mangle', chain: hint, failure: 'Failed to ensure that iptables hint chain exists' },
];

const jumpTo = (chain: string): ChainStep => ({
  ensure: 'rule',
  position: 'first',
  table: 'filter',
  chain,
  rule: ['-j', firewall],
  failure: `Failed to ensure that ${chain} chain jumps to KUBE-FIREWALL`,
});

/**
 * kube-proxy creates the same rule, so the two must be equal. With `route_localnet`, which node ports on localhost need, a host next to this one could reach
 * services on its loopback addresses (https://issue.k8s.io/90259).
 */
const firewallSteps: readonly ChainStep[] = [
  { ensure: 'chain', table: 'filter', chain: firewall, failure: 'Failed to ensure that filter table KUBE-FIREWALL chain exists' },
  jumpTo('OUTPUT'),
  jumpTo('INPUT'),
  {
    ensure: 'rule',
    position: 'last',
    table: 'filter',
    chain: firewall,
    rule: [
      '-m',
      'comment',
      '--comment',
      'block incoming localnet connections',
      '--dst',
      '127.0.0.0/8',
      '!',
      '--src',
      '127.0.0.0/8',
      '-m',
      'conntrack',
      '!',
      '--ctstate',
      'RELATED,ESTABLISHED,DNAT',
      '-j',
      'DROP',
    ],
    failure: 'Failed to ensure rule to drop invalid localhost packets in filter table KUBE-FIREWALL chain',
  },
];

/** IPv6 has no loopback addresses that can be routed. */
export const wantedChains: Readonly<Record<IPFamily, readonly ChainStep[]>> = {
  IPv4: [...hintSteps, ...firewallSteps],
  IPv6: hintSteps,
};

/** This chain shows whether another program has flushed the tables. The first table is checked: few rules are in it, so a check is cheap. */
export const canary = { chain: 'KUBE-KUBELET-CANARY', tables: ['mangle', 'nat', 'filter'] as const satisfies readonly Table[] };
