import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { parseKubeconfig } from '../../../../../src/main/api/kubeconfig/parse-kubeconfig.ts';
import { table } from '../../../../support/table.ts';

interface Given {
  readonly cluster?: object;
  readonly user?: unknown;
  readonly root?: object;
}

const path = '/etc/kubernetes/kubelet.conf';
const base64 = (text: string) => Buffer.from(text).toString('base64');

/** JSON is simpler to write than YAML, and the same parser reads it. */
const inJSON = (value: object) => JSON.stringify(value, null, 1);

/** Returns a minimal valid kubeconfig with additional fields. */
function aKubeconfig({ cluster = {}, user = {}, root = {} }: Given = {}, write: (value: object) => string = inJSON): string {
  return write({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [
      { name: 'other', context: { cluster: 'no-such', user: 'no-such' } },
      { name: 'c', context: { cluster: 'k', user: 'u', namespace: 'ns1' } },
    ],
    clusters: [{ name: 'k', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
    ...root,
  });
}

test('a kubeadm kubeconfig yields the server, its certificate authority and the client certificate', () => {
  const { cluster, user, namespace } = parseKubeconfig(
    aKubeconfig(
      {
        cluster: { 'certificate-authority-data': base64('the authority') },
        user: { 'client-certificate': '/var/lib/kubelet/pki/kubelet-client-current.pem', 'client-key': 'pki/key.pem' },
      },
      stringify,
    ),
    path,
  );
  assert.equal(cluster.server.host, '10.0.0.1:6443');
  assert.deepEqual(cluster.certificateAuthority, { data: Buffer.from('the authority') });
  assert.deepEqual(user.clientCertificate, {
    certificate: { path: '/var/lib/kubelet/pki/kubelet-client-current.pem' },
    key: { path: '/etc/kubernetes/pki/key.pem' },
  });
  assert.equal(namespace, 'ns1');
});

test('an exec plugin with a slash is relative to the kubeconfig, one without is resolved through PATH', () => {
  const commandOf = (command: string) =>
    parseKubeconfig(
      aKubeconfig({ user: { exec: { command, apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'IfAvailable' } } }),
      path,
    ).user.exec?.command;
  assert.deepEqual(['./bin/get-token', '/bin/get-token', 'aws'].map(commandOf), ['/etc/kubernetes/bin/get-token', '/bin/get-token', 'aws']);
});

test('a context without a user has no credentials, as for a server without authentication', () => {
  const contexts = [{ name: 'c', context: { cluster: 'k' } }];
  const { user } = parseKubeconfig(aKubeconfig({ root: { contexts, users: undefined } }), path);
  assert.deepEqual([user.token, user.tokenFile, user.clientCertificate, user.basic, user.exec], ['', '', null, null, null]);
});

test('a context whose user is missing has no credentials, with a warning', () => {
  const { user, warnings } = parseKubeconfig(aKubeconfig({ root: { users: [] } }), path);
  assert.deepEqual([user.token, user.tokenFile, user.clientCertificate, user.basic, user.exec], ['', '', null, null, null]);
  assert.deepEqual(warnings, ['users has none with the name "u": requests are anonymous']);
});

test('of two fields of one name the last counts, and of two documents the first, each with a warning', () => {
  const text = `${aKubeconfig({}, stringify)}current-context: c\n---\nkind: Other\n`;
  const { namespace, warnings } = parseKubeconfig(text, path);
  assert.equal(namespace, 'ns1');
  assert.equal(warnings.length, 2);
  assert.match(warnings[0]!, /^line \d+: duplicate field "current-context"$/);
  assert.match(warnings[1]!, /a second document begins/);
});

const servers: [given: object, want: string][] = [
  [{ server: 'https://host:6443/k8s/clusters/c-1/?x=1#y' }, 'https://host:6443/k8s/clusters/c-1'],
  [{ server: 'localhost:8080' }, 'http://localhost:8080/'],
  [{ server: 'localhost:6443', 'insecure-skip-tls-verify': true }, 'https://localhost:6443/'],
  [{ server: 'https://[::1]:6443' }, 'https://[::1]:6443/'],
];
table('the URL of a server is normalized', (row) => {
  for (const [cluster, want] of servers) {
    row(`the server of ${JSON.stringify(cluster)} is ${want}`, () => {
      assert.equal(parseKubeconfig(aKubeconfig({ cluster }), path).cluster.server.href, want);
    });
  }
});

const refused: { name: string; given: Given; want: RegExp }[] = [
  { name: 'without a current context', given: { root: { 'current-context': '' } }, want: /current-context is missing/ },
  { name: 'of an unknown context', given: { root: { 'current-context': 'x' } }, want: /contexts has none with the name "x"/ },
  { name: 'with two clusters of one name', given: { root: { clusters: [{ name: 'k' }, { name: 'k' }] } }, want: /is there twice: "k"/ },
  { name: 'of another kind', given: { root: { kind: 'Pod' } }, want: /kind must be "Config"/ },
  { name: 'whose contexts are not a list', given: { root: { contexts: 3 } }, want: /contexts must be a list, is a number/ },
  { name: 'without a server', given: { cluster: { server: '' } }, want: /server is missing/ },
  { name: 'whose server is not a URL', given: { cluster: { server: 'https://:x' } }, want: /server is not a URL/ },
  { name: 'whose server is ftp', given: { cluster: { server: 'ftp://host' } }, want: /must be an https or http URL/ },
  { name: 'whose server has a password', given: { cluster: { server: 'https://a:s3cret@host' } }, want: /may not have a user or password/ },
  {
    name: 'with two authorities',
    given: { cluster: { 'certificate-authority': 'a', 'certificate-authority-data': base64('b') } },
    want: /only one may be/,
  },
  {
    name: 'with an authority that is not base64',
    given: { cluster: { 'certificate-authority-data': 's3cret!' } },
    want: /certificate-authority-data is not base64/,
  },
  { name: 'with an unknown kind of proxy', given: { cluster: { 'proxy-url': 'ssh://host' } }, want: /proxy-url must be/ },
  {
    name: 'that is insecure and has an authority',
    given: { cluster: { 'insecure-skip-tls-verify': true, 'certificate-authority': 'a' } },
    want: /may not be true/,
  },
  { name: 'whose token is a number', given: { user: { token: 12345 } }, want: /users\[0\]\.user\.token must be a string, is a number/ },
  { name: 'whose user is a list', given: { user: ['s3cret'] }, want: /must be a map of fields, is a list/ },
  { name: 'with a token and a password', given: { user: { token: 's3cret', password: 's3cret' } }, want: /both a token and a username/ },
  { name: 'with a token of two lines', given: { user: { token: 's3cret\nx' } }, want: /line breaks/ },
  {
    name: 'with a certificate and no key',
    given: { user: { 'client-certificate': 'a' } },
    want: /client-key or client-key-data is missing/,
  },
  { name: 'with an auth provider', given: { user: { 'auth-provider': { name: 'gcp' } } }, want: /auth-provider has no effect any more/ },
  { name: 'with as-groups but without as', given: { user: { 'as-groups': ['system:masters'] } }, want: /as is missing/ },
  { name: 'with an exec plugin without a version', given: { user: { exec: { command: 'x' } } }, want: /apiVersion must be one of/ },
  {
    name: 'with an interactive exec plugin',
    given: { user: { exec: { command: 'x', apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Always' } } },
    want: /a daemon has nobody to ask/,
  },
];
table('an invalid kubeconfig is rejected with a line and without a secret', (row) => {
  for (const { name, given, want } of refused) {
    row(`a kubeconfig ${name} is rejected with a line and without a secret`, () => {
      assert.throws(
        () => parseKubeconfig(aKubeconfig(given), path),
        (err: Error) => want.test(err.message) && /^line \d+: /.test(err.message) && !err.message.includes('s3cret'),
      );
    });
  }
});

test('a file that is not YAML, or that has exploding aliases, is rejected', () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
    .split('')
    .map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[i]}`).join(',')}]`)
    .join('\n')}`;
  for (const content of ['{', '\tx', bomb, '[]', 'x', ''])
    assert.throws(() => parseKubeconfig(content, path), { name: 'ConfigurationError' });
});
