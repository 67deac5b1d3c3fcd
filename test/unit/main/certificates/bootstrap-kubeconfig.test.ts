import assert from 'node:assert/strict';
import { kubeconfigFromBootstrap, renderKubeconfig } from '../../../../src/main/certificates/client/bootstrap-kubeconfig.ts';
import { parseKubeconfig } from '../../../../src/main/api/kubeconfig/parse-kubeconfig.ts';
import { goKubeconfigs } from '../../../support/certificates/go-values.ts';
import { table } from '../../../support/table.ts';

const pemPath = '/var/lib/kubelet/pki/kubelet-client-current.pem';

function bootstrapWith(cluster: object): string {
  return JSON.stringify({
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'abcdef.0123456789abcdef' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'other' } }],
    'current-context': 'x',
  });
}

function rendered(cluster: object): string {
  const bootstrap = parseKubeconfig(bootstrapWith(cluster), '/etc/kubernetes/bootstrap-kubelet.conf');
  return renderKubeconfig(kubeconfigFromBootstrap(bootstrap, pemPath), pemPath);
}

table('the kubeconfig of a bootstrapped node has the bytes that client-go writes', (row) => {
  const authority = Buffer.from(`-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n${'\0'.repeat(100)}`).toString('base64');
  const cases: [string, object, string][] = [
    ['with the authority inside', { server: 'https://10.0.0.1:6443', 'certificate-authority-data': authority }, goKubeconfigs.data],
    ['with the path of the authority', { server: 'https://api.example/prefix', 'certificate-authority': 'pki/ca.crt' }, goKubeconfigs.file],
    ['without verification', { server: 'http://10.0.0.1:8080', 'insecure-skip-tls-verify': true }, goKubeconfigs.insecure],
  ];
  for (const [name, cluster, want] of cases) row(name, () => assert.equal(rendered(cluster), want));
});

table('the kubeconfig of a bootstrapped node', (row) => {
  const cluster = { server: 'https://a:6443', 'tls-server-name': 'api', 'proxy-url': 'http://proxy:3128', 'disable-compression': true };
  row('reaches the API server as the bootstrap kubeconfig does', () => {
    const { cluster: written, user } = parseKubeconfig(rendered(cluster), '/etc/kubernetes/kubelet.conf');
    const want = parseKubeconfig(bootstrapWith(cluster), '/etc/kubernetes/bootstrap-kubelet.conf');
    assert.deepEqual(written, want.cluster);
    assert.deepEqual(user.clientCertificate, { certificate: { path: pemPath }, key: { path: pemPath } });
  });
  row('has no token', () => assert.doesNotMatch(rendered(cluster), /abcdef/));
});
