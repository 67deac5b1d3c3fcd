/**
 * Certificates for pods (`podCertificate` in a projected volume, gate PodCertificateRequest). The kubelet generates the keys, requests
 * certificates from a signer in the cluster with PodCertificateRequests, and renews them while the pod exists. PodObjectManager owns it.
 * Upstream: pkg/kubelet/podcertificate.
 */
export {
  PodCertificateManager as PodCertificates,
  type Credentials,
  type PodCertificateManagerOptions as PodCertificatesOptions,
} from './pod-certificate-manager.ts';
