/** The subject, names and usages for which a certificate of the node is requested, and the check that a certificate has them. Pure. */
import type { RequestTemplate } from '../../../shared/x509/certificate-request.ts';
import type { CertificatePair } from '../certificate-pair.ts';

export type CertificatePurpose = 'client' | 'serving';

export const signers = { client: 'kubernetes.io/kube-apiserver-client-kubelet', serving: 'kubernetes.io/kubelet-serving' } as const;

/** The user and group that the Node authorizer recognizes. */
export function nodeTemplate(
  nodeName: string,
  names: Pick<RequestTemplate, 'dnsNames' | 'ipAddresses'> = { dnsNames: [], ipAddresses: [] },
): RequestTemplate {
  return { commonName: `system:node:${nodeName}`, organization: 'system:nodes', ...names };
}

/** Key usages of the request (upstream: DefaultKubeletClientGetUsages, DefaultKubeletServingGetUsages). */
export function usagesOf(purpose: CertificatePurpose, isRSA: boolean): string[] {
  return ['digital signature', ...(isRSA ? ['key encipherment'] : []), purpose === 'client' ? 'client auth' : 'server auth'];
}

/**
 * Returns what the certificate lacks of the template, or null. It may have more than the template asks for (upstream:
 * certSatisfiesTemplate).
 */
export function missingFromCertificate(pair: CertificatePair, template: RequestTemplate): string | null {
  const { commonName, organization, dnsNames, ipAddresses } = template;
  if (pair.commonName !== commonName) return `the common name ${JSON.stringify(commonName)}, it has ${JSON.stringify(pair.commonName)}`;
  const exactly = { subject: 'never', wildcards: false } as const;
  const dnsName = dnsNames.find((name) => pair.leaf.checkHost(name, exactly) === undefined);
  if (dnsName !== undefined) return `the DNS name ${dnsName}`;
  const address = ipAddresses.find((ip) => pair.leaf.checkIP(ip) === undefined);
  if (address !== undefined) return `the IP address ${address}`;
  return pair.organizations.includes(organization) ? null : `the organization ${organization}`;
}

export function equalTemplates(a: RequestTemplate | null, b: RequestTemplate | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
