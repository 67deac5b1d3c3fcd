/** The node's certificates from the cluster (upstream pkg/kubelet/certificate). */
import { counter, histogram, remainingSeconds } from '../define.ts';

export const clientCertificateExpiry = remainingSeconds(
  'kubelet_certificate_manager_client_ttl_seconds',
  "Gauge of the TTL (time-to-live) of the Kubelet's client certificate. The value is in seconds until certificate expiry (negative if already expired). If client certificate is invalid or unused, the value will be +INF.",
);
export const clientRenewErrors = counter(
  'kubelet_certificate_manager_client_expiration_renew_errors',
  'Counter of certificate renewal errors.',
);
export const servingCertificateExpiry = remainingSeconds(
  'kubelet_certificate_manager_server_ttl_seconds',
  "Gauge of the shortest TTL (time-to-live) of the Kubelet's serving certificate. The value is in seconds until certificate expiry (negative if already expired). If serving certificate is invalid or unused, the value will be +INF.",
);
export const servingRenewErrors = counter('kubelet_server_expiration_renew_errors', 'Counter of certificate renewal errors.');
export const servingRotationAge = histogram(
  'kubelet_certificate_manager_server_rotation_seconds',
  'Histogram of the number of seconds the previous certificate lived before being rotated.',
  [],
  // One minute to four years.
  [60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000],
);
