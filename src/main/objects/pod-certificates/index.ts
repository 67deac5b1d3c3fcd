/**
 * Certificates for pods (`podCertificate` in a projected volume, gate PodCertificateRequest): the keys are made here, a signer in the
 * cluster is asked through PodCertificateRequests, and what it issues is renewed for as long as the pod lives. Owned by PodValues.
 * After upstream's pkg/kubelet/podcertificate.
 */
export { PodCertificates, type Credentials, type PodCertificatesOptions } from './pod-certificate-manager.ts';
