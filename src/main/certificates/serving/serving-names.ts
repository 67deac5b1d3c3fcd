/** The names of the node's serving certificate, from the addresses of its Node (upstream: addressesToHostnamesAndIPs). Pure. */
import { isIP } from 'node:net';
import type { NodeAddress } from '../../../shared/kubernetes/api.ts';
import type { RequestTemplate } from '../../../shared/x509/certificate-request.ts';
import { nodeTemplate } from '../request/request-template.ts';

/** A name that can be part of a certificate. The writers of the Node's status choose its addresses. Upstream requests no certificate when one of them cannot be a name. */
const encodable = /^(?!\.)[\x21-\x7e]{1,253}$/;

/** Null when the addresses do not suffice for a request: without an IP, or with the gate AllowDNSOnlyNodeCSR without any name. */
export function servingTemplate(nodeName: string, addresses: readonly NodeAddress[], allowsDNSOnly: boolean): RequestTemplate | null {
  const dnsNames = new Set<string>();
  const ipAddresses = new Set<string>();
  for (const { type, address } of addresses) {
    if (!encodable.test(address)) continue;
    const isAddress = isIP(address) !== 0 && !address.includes('%');
    if (['Hostname', 'ExternalIP', 'InternalIP'].includes(type) && isAddress) ipAddresses.add(address);
    else if (['Hostname', 'ExternalDNS', 'InternalDNS'].includes(type)) dnsNames.add(address);
  }
  if (ipAddresses.size === 0 && !(allowsDNSOnly && dnsNames.size > 0)) return null;
  // In a stable order: the order of the Node's addresses is no reason for a new certificate.
  return nodeTemplate(nodeName, { dnsNames: [...dnsNames].sort(), ipAddresses: [...ipAddresses].sort() });
}
