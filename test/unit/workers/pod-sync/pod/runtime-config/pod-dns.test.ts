import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../../../../../../src/shared/kubernetes/api.ts';
import { computePodDNS } from '../../../../../../src/workers/pod-sync/pod/runtime-config/pod-dns.ts';
import { aPod } from '../../../../../support/pods/pods.ts';
import { someSettings } from '../../../../../support/pods/runtime-config-inputs.ts';
import { table } from '../../../../../support/table.ts';

const hostConf = 'nameserver 1.1.1.1\nsearch example.com\noptions timeout:3\n';

function dns(
  spec: Partial<PodSpec>,
  fields: { clusterDNS?: string[]; clusterDomain?: string; resolvConf?: string; nodeIPs?: string[] } = {},
) {
  const { nodeIPs = ['192.168.1.5'], ...settings } = fields;
  const pod: Pod = aPod({ spec });
  const resolvConf = settings.resolvConf === '' ? null : hostConf;
  return computePodDNS({ pod, settings: { ...someSettings, ...settings }, resolvConf, nodeIPs });
}

const clusterSearch = ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'example.com'];
const cases: readonly [name: string, spec: Partial<PodSpec>, fields: Parameters<typeof dns>[1], want: [string[], string[], string[]]][] = [
  ['ClusterFirst uses the cluster DNS', { dnsPolicy: 'ClusterFirst' }, {}, [['10.96.0.10'], clusterSearch, ['ndots:5']]],
  [
    'ClusterFirst without a cluster domain keeps the searches of the node',
    { dnsPolicy: 'ClusterFirst' },
    { clusterDomain: '' },
    [['10.96.0.10'], ['example.com'], ['ndots:5']],
  ],
  [
    'ClusterFirst in the host’s network is Default',
    { dnsPolicy: 'ClusterFirst', hostNetwork: true },
    {},
    [['1.1.1.1'], ['example.com'], ['timeout:3']],
  ],
  [
    'ClusterFirstWithHostNet uses the cluster DNS',
    { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true },
    {},
    [['10.96.0.10'], clusterSearch, ['ndots:5']],
  ],
  ['Default uses the node’s file', { dnsPolicy: 'Default' }, {}, [['1.1.1.1'], ['example.com'], ['timeout:3']]],
  ['Default without a file uses the pod itself', { dnsPolicy: 'Default' }, { resolvConf: '' }, [['127.0.0.1'], ['.'], []]],
  [
    'Default without a file, on a dual-stack node',
    { dnsPolicy: 'Default' },
    { resolvConf: '', nodeIPs: ['fd00::5', '10.0.0.5'] },
    [['::1', '127.0.0.1'], ['.'], []],
  ],
  ['None is empty', { dnsPolicy: 'None' }, {}, [[], [], []]],
  [
    'None with a dnsConfig uses only the dnsConfig',
    {
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['9.9.9.9'], searches: ['my.org'], options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }] },
    },
    {},
    [['9.9.9.9'], ['my.org'], ['ndots:2', 'edns0']],
  ],
  [
    'the dnsConfig is added, its options win, and duplicates are removed',
    {
      dnsPolicy: 'ClusterFirst',
      dnsConfig: {
        nameservers: ['10.96.0.10', '9.9.9.9'],
        searches: ['cluster.local', 'my.org'],
        options: [{ name: 'ndots', value: '1' }, { name: 'debug' }],
      },
    },
    {},
    [
      ['10.96.0.10', '9.9.9.9'],
      [...clusterSearch, 'my.org'],
      ['ndots:1', 'debug'],
    ],
  ],
];
table('DNS', (row) => {
  for (const [name, spec, fields, want] of cases) {
    row(`DNS: ${name}`, () => {
      const { config, warnings } = dns(spec, fields);
      assert.deepEqual([config.servers, config.searches, config.options], want);
      assert.deepEqual(warnings, []);
    });
  }
});

test('DNS: without a cluster DNS, ClusterFirst falls back to the node’s with warnings', () => {
  const { config, warnings } = dns({ dnsPolicy: 'ClusterFirst' }, { clusterDNS: [] });
  assert.deepEqual(config.servers, ['1.1.1.1']);
  const message =
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
  assert.deepEqual(warnings, [
    { object: 'node', reason: 'MissingClusterDNS', message },
    { reason: 'MissingClusterDNS', message: `pod: "web_default(uid-web)". ${message}` },
  ]);
});

test('DNS: entries beyond the limits of resolv.conf are omitted with warnings', () => {
  const searches = [...Array.from({ length: 30 }, (_, index) => `d${index}.example.org`), 'x'.repeat(254)];
  const { config, warnings } = dns({ dnsPolicy: 'ClusterFirst', dnsConfig: { nameservers: ['2.2.2.2', '3.3.3.3', '4.4.4.4'], searches } });
  assert.deepEqual(config.servers, ['10.96.0.10', '2.2.2.2', '3.3.3.3']);
  assert.equal(config.searches.length, 32);
  assert.deepEqual(
    warnings.map(({ message }) => message.slice(0, 40)),
    ['Nameserver limits were exceeded, some na', 'Search Line limits were exceeded, some s'],
  );
  const long = Array.from({ length: 20 }, (_, index) => `${String(index).padStart(3, '0')}.${'a'.repeat(150)}`);
  const cut = dns({ dnsPolicy: 'None', dnsConfig: { searches: long } });
  assert.equal(cut.config.searches.join(' ').length, 13 * 155 - 1);
  assert.equal(cut.warnings.length, 1);
  assert.deepEqual(dns({ dnsPolicy: 'None', dnsConfig: { searches: ['x'.repeat(254), 'ok'] } }).config.searches, ['ok']);
});

test('DNS: an invalid resolv.conf of the node is an error', () => {
  const broken = () => computePodDNS({ pod: aPod(), settings: someSettings, resolvConf: 'nameserver\n', nodeIPs: [] });
  assert.throws(broken, /^Error: Encountered error while parsing resolv conf file. Error: nameserver list is empty $/);
});
