/** Computes a pod's resolv.conf (upstream pkg/kubelet/network/dns). Pure. */
import { isIPv6 } from 'node:net';
import type { PodSyncSettings } from '../../../../shared/contracts/pod-sync/worker-data.ts';
import type { DNSConfig } from '../../../../shared/cri/generated/cri-v1.ts';
import { messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../../shared/kubernetes/api.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';
import {
  maxNameservers,
  maxSearchListChars,
  maxSearchPathChars,
  maxSearchPaths,
  parseResolvConf,
} from '../../../../shared/linux/resolv-conf.ts';
import { formatPod } from '../format-pod.ts';
import type { ConfigWarning } from './config-inputs.ts';

/** Names with fewer than five dots are first tried with the search domains, so that `svc.namespace` works (upstream defaultDNSOptions). */
const clusterOptions = ['ndots:5'];

export interface PodDNSInput {
  readonly pod: Pod;
  readonly settings: Pick<PodSyncSettings, 'clusterDNS' | 'clusterDomain' | 'resolvConf'>;
  /** The content of the file `settings.resolvConf`; null when the setting is empty. */
  readonly resolvConf: string | null;
  readonly nodeIPs: readonly string[];
}

/** Throws an Error when the node's resolv.conf is invalid. */
export function computePodDNS({ pod, settings, resolvConf, nodeIPs }: PodDNSInput): { config: DNSConfig; warnings: ConfigWarning[] } {
  const warnings: ConfigWarning[] = [];
  const config = baseConfig({ pod, settings, resolvConf, nodeIPs }, warnings);
  const { dnsConfig } = pod.spec;
  const merged = dnsConfig
    ? {
        servers: unique([...config.servers, ...(dnsConfig.nameservers ?? [])]),
        searches: unique([...config.searches, ...(dnsConfig.searches ?? [])]),
        options: mergeOptions(config.options, dnsConfig.options ?? []),
      }
    : config;
  return {
    config: { ...merged, servers: fitServers(merged.servers, warnings), searches: fitSearches(merged.searches, warnings) },
    warnings,
  };
}

function baseConfig({ pod, settings, resolvConf, nodeIPs }: PodDNSInput, warnings: ConfigWarning[]): DNSConfig {
  const host = resolvConf === null ? { servers: [], searches: [], options: [] } : parseHostConf(resolvConf);
  const policy = pod.spec.dnsPolicy;
  if (policy === 'None') return { servers: [], searches: [], options: [] };
  const wantsClusterDNS = policy !== 'Default' && !(policy === 'ClusterFirst' && pod.spec.hostNetwork);
  if (wantsClusterDNS && settings.clusterDNS.length > 0) {
    const { clusterDomain } = settings;
    const clusterSearches =
      clusterDomain === '' ? [] : [`${pod.metadata.namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
    // Without a cluster domain, the host's searches are used unchanged.
    return {
      servers: [...settings.clusterDNS],
      searches: clusterSearches.length > 0 ? unique([...clusterSearches, ...host.searches]) : host.searches,
      options: clusterOptions,
    };
  }
  if (wantsClusterDNS) {
    const message =
      'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
    warnings.push({ object: 'node', reason: 'MissingClusterDNS', message });
    warnings.push({ reason: 'MissingClusterDNS', message: `pod: ${goQuote(formatPod(pod.metadata))}. ${message}` });
  }
  if (settings.resolvConf !== '') return host;
  // An empty setting means: use neither the node's resolver nor the runtime's default, /etc/resolv.conf.
  const loopbacks = nodeIPs.map((ip) => (isIPv6(ip) ? '::1' : '127.0.0.1'));
  return { ...host, servers: loopbacks.length > 0 ? loopbacks : ['127.0.0.1'], searches: ['.'] };
}

function parseHostConf(text: string): DNSConfig {
  try {
    return parseResolvConf(text);
  } catch (err) {
    throw new Error(`Encountered error while parsing resolv conf file. Error: ${messageOf(err)}`, { cause: err });
  }
}

function mergeOptions(host: readonly string[], pod: readonly { readonly name?: string; readonly value?: string }[]): string[] {
  const merged = new Map<string, string>();
  for (const option of host) {
    const colon = option.indexOf(':');
    merged.set(colon === -1 ? option : option.slice(0, colon), colon === -1 ? '' : option.slice(colon + 1));
  }
  for (const { name, value } of pod) merged.set(name ?? '', value ?? '');
  return [...merged].map(([name, value]) => (value === '' ? name : `${name}:${value}`));
}

function fitServers(servers: string[], warnings: ConfigWarning[]): string[] {
  if (servers.length <= maxNameservers) return servers;
  const keptServers = servers.slice(0, maxNameservers);
  warnings.push({
    reason: 'DNSConfigForming',
    message: `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${keptServers.join(' ')}`,
  });
  return keptServers;
}

function fitSearches(searches: string[], warnings: ConfigWarning[]): string[] {
  const keptSearches = searches.slice(0, maxSearchPaths).filter((domain) => domain.length <= maxSearchPathChars);
  while (keptSearches.join(' ').length > maxSearchListChars) keptSearches.pop();
  if (keptSearches.length < searches.length) {
    warnings.push({
      reason: 'DNSConfigForming',
      message: `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${keptSearches.join(' ')}`,
    });
  }
  return keptSearches;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
