/**
 * Certificates for pods (`podCertificate` in a projected volume, gate PodCertificateRequest): the keys are made here, a signer in the
 * cluster is asked through PodCertificateRequests, and what it issues is renewed for as long as the pod lives. Owned by PodObjectManager.
 * After upstream's pkg/kubelet/podcertificate.
 */
export {
  PodCertificateManager as PodCertificates,
  type Credentials,
  type PodCertificateManagerOptions as PodCertificatesOptions,
} from './pod-certificate-manager.ts';
