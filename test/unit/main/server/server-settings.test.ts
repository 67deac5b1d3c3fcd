import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getCiphers } from 'node:tls';
import type { KubeletConfiguration } from '../../../../src/main/config/kubelet-configuration.ts';
import { tlsCipherSuites } from '../../../../src/main/config/validation/tls-names.ts';
import { flagValues } from '../../../../src/main/config/flags/flag-values.ts';
import { secureServerFault, serverSettings } from '../../../../src/main/server/server-settings.ts';
import { kubeletOptions as options } from '../../../support/kubelet/kubelet-options.ts';
import { table } from '../../../support/table.ts';

const surroundings = {
  nodeName: 'n',
  snapshot: new SharedArrayBuffer(0),
  usage: new SharedArrayBuffer(0),
  storage: new SharedArrayBuffer(0),
  claimedVolumes: new SharedArrayBuffer(0),
  timelines: new SharedArrayBuffer(0),
  hasApiServer: true,
};
const secureOf = (fields: Partial<KubeletConfiguration>) => serverSettings(options(fields), surroundings).secure!;

const suites: [go: string, openssl: string][] = [
  ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA', 'ECDHE-RSA-AES256-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256', 'ECDHE-RSA-AES128-SHA256'],
  ['TLS_RSA_WITH_AES_256_GCM_SHA384', 'AES256-GCM-SHA384'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA', 'AES128-SHA'],
  ['TLS_RSA_WITH_3DES_EDE_CBC_SHA', 'DES-CBC3-SHA'],
];
table('the cipher suites of Go have OpenSSL’s names', (row) => {
  for (const [go, openssl] of suites) {
    row(`the cipher suite ${go} is ${openssl}`, () => {
      const { ciphers } = secureOf({ tlsCipherSuites: [go] }).tls;
      assert.deepEqual(ciphers.split(':').slice(3), [openssl]);
    });
  }
});

test('OpenSSL has every configurable cipher suite except RC4 and triple DES', () => {
  const known = new Set(getCiphers().map((name) => name.toUpperCase()));
  const { ciphers } = secureOf({ tlsCipherSuites: [...tlsCipherSuites] }).tls;
  const unknown = ciphers.split(':').filter((name) => !known.has(name));
  assert.ok(
    unknown.every((name) => /RC4|DES-CBC3/.test(name)),
    unknown.join(),
  );
});

test('the certificates are the configured ones, or else self-signed ones in the certificate directory, or come from main', () => {
  const filesOf = (fields: Partial<KubeletConfiguration>) => {
    const { certFile, keyFile, selfSignedFor } = secureOf(fields).tls;
    return [certFile, keyFile, selfSignedFor];
  };
  assert.deepEqual(filesOf({}), ['/var/lib/kubelet/pki/kubelet.crt', '/var/lib/kubelet/pki/kubelet.key', 'n']);
  assert.deepEqual(filesOf({ tlsCertFile: '/c', tlsPrivateKeyFile: '/k' }), ['/c', '/k', null]);
  // Main sets the certificate, also that of these files.
  assert.deepEqual(filesOf({ serverTLSBootstrap: true, tlsCertFile: '/c', tlsPrivateKeyFile: '/k' }), ['', '', null]);
});

test('curves and TLS versions have OpenSSL’s names', () => {
  const { curves, minVersion } = secureOf({ tlsCurvePreferences: [4588, 29, 23], tlsMinVersion: 'VersionTLS13' }).tls;
  assert.deepEqual([curves, minVersion], ['X25519MLKEM768:X25519:P-256', 'TLSv1.3']);
});

const authentication = { x509: { clientCAFile: '' }, webhook: { enabled: false, cacheTTL: 0 }, anonymous: { enabled: false } };
const authorization = { mode: 'AlwaysAllow', webhook: { cacheAuthorizedTTL: 0, cacheUnauthorizedTTL: 0 } };
const webhook = { enabled: true, cacheTTL: 0 };
const faults: { name: string; config: Parameters<typeof secureServerFault>[0]; api: boolean; want: string | null }[] = [
  { name: 'no authentication method', config: { authentication, authorization }, api: true, want: 'no authentication method configured' },
  {
    name: 'tokens need an API server',
    config: { authentication: { ...authentication, webhook }, authorization },
    api: false,
    want: 'no client provided, cannot use webhook authentication',
  },
  {
    name: 'tokens suffice with an API server',
    config: { authentication: { ...authentication, webhook }, authorization },
    api: true,
    want: null,
  },
  {
    name: 'access reviews need an API server',
    config: { authentication: { ...authentication, anonymous: { enabled: true } }, authorization: { ...authorization, mode: 'Webhook' } },
    api: false,
    want: 'no client provided, cannot use webhook authorization',
  },
  {
    name: 'client certificates suffice',
    config: { authentication: { ...authentication, x509: { clientCAFile: '/ca' } }, authorization },
    api: false,
    want: null,
  },
];
table('why the authenticated server cannot start', (row) => {
  for (const { name, config, api, want } of faults) {
    row(`the authenticated server: ${name}`, () => assert.equal(secureServerFault(config, api), want));
  }
});

test('there is no authenticated server when it could accept no client, or when it is disabled', () => {
  const closed = { authentication, authorization };
  assert.equal(serverSettings(options(closed), surroundings).secure, null);
  assert.equal(serverSettings(options({ enableServer: false }), surroundings).secure, null);
  assert.notEqual(secureOf({}), null);
});

test('flags are shown with their effective values, and possible credentials are hidden', () => {
  const values = flagValues(
    options({ syncFrequency: 90_000, clusterDNS: ['10.0.0.10', '10.0.0.11'], staticPodURLHeader: { Authorization: ['x'] } }),
  );
  assert.deepEqual(
    ['sync-frequency', 'cluster-dns', 'manifest-url-header', 'root-dir', 'port'].map((name) => values[name]),
    ['1m30s', '[10.0.0.10,10.0.0.11]', 'CLASSIFIED', '/var/lib/kubelet', '10250'],
  );
  assert.ok(Object.values(values).every((value) => !value.includes('undefined') && !value.includes('[object')));
});

test('containers have filesystems with CRI-O, unless the usage comes from the runtime', () => {
  const has = (containerRuntimeEndpoint: string, isFromRuntime = false) =>
    serverSettings(options({ containerRuntimeEndpoint }, { PodAndContainerStatsFromCRI: isFromRuntime }), surroundings).stats
      .hasContainerFilesystems;
  const socket = 'unix:///var/run/crio/crio.sock';
  assert.deepEqual(
    [has(socket), has('unix:///run/crio/crio.sock'), has('unix:///run/containerd/containerd.sock'), has(socket, true)],
    [true, true, false, false],
  );
});
