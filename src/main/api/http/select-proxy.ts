/**
 * Selects the proxy for connections to the API server: the kubeconfig's, else HTTPS_PROXY by the rules of Go's clients
 * (golang.org/x/net/http/httpproxy), unless NO_PROXY lists the server or the server is on this host.
 */
import { BlockList, isIP } from 'node:net';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the proxy's URL, or null to connect directly. */
export function selectProxy(server: URL, configured: string, environment: Environment): string | null {
  if (configured !== '') return configured;
  const environmentProxy = server.protocol === 'https:' ? variableOf(environment, 'HTTPS_PROXY') : variableOf(environment, 'HTTP_PROXY');
  if (environmentProxy === '' || !usesProxy(server, variableOf(environment, 'NO_PROXY'))) return null;
  const proxy = environmentProxy.includes('://') ? environmentProxy : `http://${environmentProxy}`;
  return URL.canParse(proxy) ? proxy : null;
}

function variableOf(environment: Environment, name: string): string {
  return environment[name] || environment[name.toLowerCase()] || '';
}

function usesProxy(server: URL, noProxy: string): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, '');
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  if (host === 'localhost' || isIn('127.0.0.0/8', host) || host === '::1') return false;
  const entries = noProxy
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '');
  return !entries.some((entry) => excludes(entry, host, port));
}

function excludes(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return isIn(entry, host);
  // An IPv6 address has colons of its own, and no port without brackets.
  const { bare = '', onlyPort } = isIP(entry) === 0 ? (/^(?<bare>.*?)(?::(?<onlyPort>\d+))?$/.exec(entry)?.groups ?? {}) : { bare: entry };
  if (onlyPort !== undefined && onlyPort !== port) return false;
  const name = bare.replace(/^\[|\]$/g, '');
  if (isIP(name) !== 0) return name === host;
  // `.example.org` and `*.example.org` match only names below the domain, `example.org` matches the domain as well.
  const domain = name.replace(/^\*/, '');
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

function isIn(range: string, host: string): boolean {
  const [network = '', bits = ''] = range.split('/');
  const family = isIP(network) === 6 ? 'ipv6' : 'ipv4';
  if (isIP(network) === 0 || isIP(network) !== isIP(host) || !/^\d{1,3}$/.test(bits)) return false;
  if (Number(bits) > (family === 'ipv6' ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family);
  return list.check(host, family);
}
