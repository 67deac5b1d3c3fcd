import assert from 'node:assert/strict';
import { selectProxy } from '../../../../../src/main/api/http/select-proxy.ts';
import { table } from '../../../../support/table.ts';

const proxy = 'http://proxy:3128';
const cases: { name: string; server?: string; configured?: string; environment?: Record<string, string>; want: string | null }[] = [
  { name: 'none anywhere', want: null },
  { name: 'the kubeconfig’s, whatever NO_PROXY says', configured: proxy, environment: { NO_PROXY: '*' }, want: proxy },
  { name: 'the environment’s', environment: { HTTPS_PROXY: proxy }, want: proxy },
  { name: 'the environment’s in small letters and without a scheme', environment: { https_proxy: 'proxy:3128' }, want: proxy },
  { name: 'not that for HTTP', environment: { HTTP_PROXY: proxy }, want: null },
  { name: 'not one that is no URL', environment: { HTTPS_PROXY: 'http://:::' }, want: null },
  { name: 'none for this host by name', server: 'https://localhost:6443', environment: { HTTPS_PROXY: proxy }, want: null },
  { name: 'none for this host by address', server: 'https://127.1.2.3:6443', environment: { HTTPS_PROXY: proxy }, want: null },
  { name: 'none for this host by IPv6', server: 'https://[::1]:6443', environment: { HTTPS_PROXY: proxy }, want: null },
];
const excluded: [noProxy: string, server: string, isExcluded: boolean][] = [
  ['*', 'https://api.example.org', true],
  ['other.org, example.org', 'https://api.example.org', true],
  ['example.org', 'https://example.org', true],
  ['.example.org', 'https://example.org', false],
  ['*.example.org', 'https://api.example.org', true],
  ['ample.org', 'https://example.org', false],
  ['example.org:443', 'https://example.org', true],
  ['example.org:443', 'https://example.org:6443', false],
  ['10.0.0.1', 'https://10.0.0.1:6443', true],
  ['10.0.0.1', 'https://10.0.0.10:6443', false],
  ['10.0.0.0/8', 'https://10.9.9.9:6443', true],
  ['10.0.0.0/8', 'https://11.0.0.1', false],
  ['fd00::/8', 'https://[fd00::1]:6443', true],
  ['fd00::1', 'https://[fd00::1]:6443', true],
  ['[fd00::1]:6443', 'https://[fd00::1]:6443', true],
  ['10.0.0.0/99,x/y,:', 'https://10.0.0.1', false],
];
for (const [noProxy, server, isExcluded] of excluded) {
  const environment = { HTTPS_PROXY: proxy, NO_PROXY: noProxy };
  cases.push({ name: `NO_PROXY=${noProxy} for ${server}`, server, environment, want: isExcluded ? null : proxy });
}
table('the way to the API server by proxy', (row) => {
  for (const { name, server = 'https://api.example.org', configured = '', environment = {}, want } of cases) {
    row(`the way to the API server by proxy: ${name}`, () => {
      assert.equal(selectProxy(new URL(server), configured, environment), want);
    });
  }
});
