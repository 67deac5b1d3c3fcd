/** Names in a pod of a cluster: DNS configuration, host name, hosts file, and service variables. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { clusterDnsIp } from '../../../lab/control-plane/control-plane-member.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

describe('a pod in a cluster', { concurrency: 4 }, () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start('cluster-names');
  });
  after(() => node?.destroy());

  const outputOf = (name: string, sh: string, spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}) =>
    node.outputOf(name, { containers: [aBusybox({ sh })], ...spec }, metadata);
  /** Returns the entries of a keyword in the host's resolv.conf. */
  const hostEntries = (keyword: string) =>
    readFileSync('/etc/resolv.conf', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([first]) => first === keyword)
      .flatMap(([, ...words]) => words);
  const parse = (text: string) => {
    const lines = text.split('\n').map((line) => line.split(' '));
    const entries = (keyword: string) => lines.filter(([first]) => first === keyword).flatMap(([, ...words]) => words);
    return { nameservers: entries('nameserver'), searches: entries('search'), options: entries('options') };
  };
  const clusterSearches = () => [`${node.namespace}.svc.cluster.local`, 'svc.cluster.local', 'cluster.local'];

  test('uses the cluster’s DNS with ClusterFirst', async () => {
    const conf = parse(await outputOf('cluster-first', 'cat /etc/resolv.conf'));
    assert.deepEqual(conf.nameservers, [clusterDnsIp]);
    assert.deepEqual(conf.searches, [...clusterSearches(), ...hostEntries('search')]);
    assert.deepEqual(conf.options, ['ndots:5']);
  });

  test('uses the host’s resolver with Default and on the host network', async () => {
    const conf = parse(await outputOf('default', 'cat /etc/resolv.conf', { dnsPolicy: 'Default' }));
    assert.deepEqual([conf.nameservers, conf.searches], [hostEntries('nameserver'), hostEntries('search')]);
    const host = parse(await outputOf('host-network', 'cat /etc/resolv.conf', { hostNetwork: true }));
    assert.deepEqual(host.nameservers, hostEntries('nameserver'));
    const both = parse(await outputOf('host-cluster', 'cat /etc/resolv.conf', { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }));
    assert.deepEqual(both.nameservers, [clusterDnsIp]);
    assert.deepEqual(both.searches.slice(0, 3), clusterSearches());
  });

  test('uses its dnsConfig in addition, or alone with None', async () => {
    const dnsConfig = {
      nameservers: ['192.0.2.53'],
      searches: ['example.test', 'svc.cluster.local'],
      options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
    };
    const added = parse(await outputOf('added', 'cat /etc/resolv.conf', { dnsConfig }));
    assert.deepEqual(added.nameservers, [clusterDnsIp, '192.0.2.53']);
    assert.deepEqual(added.searches, [...new Set([...clusterSearches(), ...hostEntries('search'), 'example.test'])]);
    assert.deepEqual(added.options.toSorted(), ['edns0', 'ndots:2']);
    const alone = parse(await outputOf('alone', 'cat /etc/resolv.conf', { dnsPolicy: 'None', dnsConfig }));
    assert.deepEqual(alone, {
      nameservers: ['192.0.2.53'],
      searches: ['example.test', 'svc.cluster.local'],
      options: ['ndots:2', 'edns0'],
    });
  });

  test('has an event about omitted search domains', async () => {
    const searches = Array.from({ length: 32 }, (_, i) => `s${i}.example.test`);
    const conf = parse(await outputOf('searching', 'cat /etc/resolv.conf', { dnsConfig: { searches } }));
    assert.equal(conf.searches.length, 32);
    const event = await node.untilEvent(
      'searching',
      'DNSConfigForming',
      /^Search Line limits were exceeded, some search paths have been omitted/,
    );
    assert.equal(event.type, 'Warning');
  });

  test('has its host name, subdomain and FQDN', async () => {
    assert.equal(await outputOf('plain', 'hostname'), 'plain');
    const full = `own.sub.${node.namespace}.svc.cluster.local`;
    const output = await outputOf('named', 'hostname; hostname -f; cat /etc/hosts', { hostname: 'own', subdomain: 'sub' });
    const [short, fqdn, ...hosts] = output.split('\n');
    assert.deepEqual([short, fqdn], ['own', full]);
    assert.ok(
      hosts.some((line) => /^10\.\d+\.\d+\.\d+\t/.test(line) && line.endsWith(`${full}\town`)),
      output,
    );
    assert.equal(await outputOf('full', 'hostname', { hostname: 'own', subdomain: 'sub', setHostnameAsFQDN: true }), full);
    assert.equal(await outputOf('overridden', 'hostname', { hostnameOverride: 'quite.another.name' }), 'quite.another.name');
  });

  test('waits with an event when its FQDN is too long', async () => {
    const subdomain = 's'.repeat(60);
    await node.create('too-long', { hostname: 'own', subdomain, setHostnameAsFQDN: true });
    await node.untilEvent(
      'too-long',
      'FailedCreatePodSandBox',
      /failed to construct FQDN from pod hostname and cluster domain, FQDN .* is too long/,
    );
  });

  test('has its own name and its aliases in its hosts file', async () => {
    const hostAliases = [
      { ip: '192.0.2.9', hostnames: ['one.test', 'two.test'] },
      { ip: '2001:db8::9', hostnames: ['six.test'] },
    ];
    const output = await outputOf('aliased', 'cat /etc/hosts; echo $IP', {
      hostAliases,
      containers: [
        aBusybox({ sh: 'cat /etc/hosts; echo $IP', env: [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }] }),
      ],
    });
    const lines = output.split('\n');
    const ip = lines.at(-1);
    assert.equal(lines[0], '# Kubernetes-managed hosts file.');
    for (const line of ['127.0.0.1\tlocalhost', `${ip}\taliased`, '192.0.2.9\tone.test\ttwo.test', '2001:db8::9\tsix.test']) {
      assert.ok(lines.includes(line), `${line} in ${output}`);
    }
    const ofHostNetwork = await outputOf('host-aliased', 'cat /etc/hosts', { hostNetwork: true, hostAliases });
    assert.match(ofHostNetwork, /^# Kubernetes-managed hosts file \(host network\)\.\n/);
    assert.match(ofHostNetwork, /192\.0\.2\.9\tone\.test\ttwo\.test/);
  });

  test('has service variables of its namespace, or only the API server’s without service links', async () => {
    const service = await node.api.create<{ spec: { clusterIP: string } }>(`/api/v1/namespaces/${node.namespace}/services`, {
      metadata: { name: 'data-base' },
      spec: { selector: { app: 'none' }, ports: [{ name: 'sql', port: 5432, protocol: 'TCP' }] },
    });
    const { clusterIP } = service.spec;
    // The kubelet watches services; an earlier pod would not have the new one.
    let attempt = 0;
    const output = await waitUntil(
      'a pod sees the service',
      async () => {
        const text = await outputOf(`linked-${attempt++}`, 'env | sort');
        return text.includes('DATA_BASE') ? text : null;
      },
      60_000,
    );
    const env = new Map(output.split('\n').map((line) => line.split(/=(.*)/s) as [string, string]));
    assert.equal(env.get('DATA_BASE_SERVICE_HOST'), clusterIP);
    assert.equal(env.get('DATA_BASE_SERVICE_PORT'), '5432');
    assert.equal(env.get('DATA_BASE_SERVICE_PORT_SQL'), '5432');
    assert.equal(env.get('DATA_BASE_PORT'), `tcp://${clusterIP}:5432`);
    assert.equal(env.get('DATA_BASE_PORT_5432_TCP_ADDR'), clusterIP);
    assert.equal(env.get('KUBERNETES_SERVICE_HOST'), '10.96.0.1');
    const unlinked = await outputOf('unlinked', 'env | sort', { enableServiceLinks: false });
    assert.doesNotMatch(unlinked, /DATA_BASE/);
    assert.match(unlinked, /^KUBERNETES_SERVICE_HOST=10\.96\.0\.1$/m);
  });
});
