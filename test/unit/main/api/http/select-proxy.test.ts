import assert from 'node:assert/strict';
import { selectProxy } from '../../../../../src/main/api/http/select-proxy.ts';
import { table } from '../../../../support/table.ts';

const proxy = 'http://proxy:3128';
const cases: { name: string; server?: string; configured?: string; environment?: Record<string, string>; want: string | null }[] = [
  { name: 'no proxy is configured', want: null },
  { name: 'the proxy of the kubeconfig ignores NO_PROXY', configured: proxy, environment: { NO_PROXY: '*' }, want: proxy },
  { name: 'HTTPS_PROXY', environment: { HTTPS_PROXY: proxy }, want: proxy },
  { name: 'https_proxy in lower case and without a scheme', environment: { https_proxy: 'proxy:3128' }, want: proxy },
  { name: 'HTTP_PROXY does not apply to https', environment: { HTTP_PROXY: proxy }, want: null },
  { name: 'an invalid URL is ignored', environment: { HTTPS_PROXY: 'http://:::' }, want: null },
  { name: 'no proxy for localhost', server: 'https://localhost:6443', environment: { HTTPS_PROXY: proxy }, want: null },
  { name: 'no proxy for a loopback address', server: 'https://127.1.2.3:6443', environment: { HTTPS_PROXY: proxy }, want: null },
  { name: 'no proxy for the IPv6 loopback address', server: 'https://[::1]:6443', environment: { HTTPS_PROXY: proxy }, want: null },
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
table('the proxy to the API server', (row) => {
  for (const { name, server = 'https://api.example.org', configured = '', environment = {}, want } of cases) {
    row(`the proxy to the API server: ${name}`, () => {
      assert.equal(selectProxy(new URL(server), configured, environment), want);
    });
  }
});
