/** Computes a pod's hostname and domain (upstream Kubelet.GeneratePodHostNameAndDomain and GetNodenameForKernel). */
import type { PodSyncSettings } from '../../../../shared/contracts/pod-sync/worker-data.ts';
import type { Pod } from '../../../../shared/kubernetes/api.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';
import { dns1123LabelErrors, dns1123SubdomainErrors } from '../../../../shared/kubernetes/names.ts';

/** The length of a DNS label, to which a hostname without domain is truncated. */
const maxHostname = 63;
/** The longest name that Linux allows (HOST_NAME_MAX). */
const maxFQDN = 64;

export interface PodHostname {
  readonly hostname: string;
  /** Empty when the pod has none. */
  readonly domain: string;
}

/** Throws an Error when a part is not a valid DNS name. */
export function computePodHostname(pod: Pod, settings: Pick<PodSyncSettings, 'clusterDomain'>): PodHostname {
  const { hostname, subdomain: podSubdomain, hostnameOverride } = pod.spec;
  const { name, namespace } = pod.metadata;
  if (hostnameOverride !== undefined) {
    check('HostnameOverride', hostnameOverride, 'DNS subdomain', dns1123SubdomainErrors(hostnameOverride));
    return { hostname: truncate(name, hostnameOverride), domain: '' };
  }
  if (hostname) check('Hostname', hostname, 'DNS label', dns1123LabelErrors(hostname));
  if (podSubdomain) check('Subdomain', podSubdomain, 'DNS label', dns1123LabelErrors(podSubdomain));
  return {
    hostname: truncate(name, hostname || name),
    domain: podSubdomain ? `${podSubdomain}.${namespace}.svc.${settings.clusterDomain}` : '',
  };
}

function check(field: string, value: string, nameKind: string, errors: readonly string[]): void {
  if (errors.length > 0) throw new Error(`pod ${field} ${goQuote(value)} is not a valid ${nameKind}: ${errors.join(';')}`);
}

function truncate(podName: string, hostname: string): string {
  if (hostname.length <= maxHostname) return hostname;
  const truncated = hostname.slice(0, maxHostname).replace(/[-.]+$/, '');
  if (truncated === '') throw new Error(`hostname for pod ${goQuote(podName)} was invalid: ${goQuote(hostname)}`);
  return truncated;
}

/** Returns the hostname for the kernel. Throws an Error when the FQDN is requested and too long. */
export function kernelHostname({ hostname, domain }: PodHostname, setHostnameAsFQDN: boolean | undefined): string {
  if (domain === '' || !setHostnameAsFQDN) return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length > maxFQDN) {
    throw new Error(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (${maxFQDN} characters is the max, ${fqdn.length} characters requested)`,
    );
  }
  return fqdn;
}
