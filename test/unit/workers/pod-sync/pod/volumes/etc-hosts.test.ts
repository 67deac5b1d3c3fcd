import assert from 'node:assert/strict';
import { test } from 'node:test';
import { managedHostsContent, nodeHostsContent } from '../../../../../../src/workers/pod-sync/pod/volumes/etc-hosts.ts';

const head = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`;
const aliases = [
  { ip: '123.45.67.89', hostnames: ['foo', 'bar'] },
  { ip: '456.78.90.123', hostnames: ['baz'] },
];
const aliasLines = '\n# Entries added by HostAliases.\n123.45.67.89\tfoo\tbar\n456.78.90.123\tbaz\n';

test('the hosts file has the pod’s name', () => {
  assert.equal(managedHostsContent(['10.0.0.7'], { hostname: 'web', domain: '' }), `${head}10.0.0.7\tweb\n`);
});
test('the hosts file of a dual-stack pod with a domain has both names for both IPs', () => {
  const hosts = managedHostsContent(['10.0.0.7', 'fd00::7'], { hostname: 'web', domain: 'sub.ns.svc.cluster.local' }, aliases);
  assert.equal(hosts, `${head}10.0.0.7\tweb.sub.ns.svc.cluster.local\tweb\nfd00::7\tweb.sub.ns.svc.cluster.local\tweb\n${aliasLines}`);
});
test('a pod in the host’s network has the node’s file with its own aliases', () => {
  assert.equal(nodeHostsContent('127.0.0.1 localhost\n'), '# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n');
  assert.equal(nodeHostsContent('x\n', aliases), `# Kubernetes-managed hosts file (host network).\nx\n${aliasLines}`);
});
