/**
 * The node's certificates from the cluster: the client certificate of the API client (bootstrap and rotation) and the serving certificate of the
 * server thread. Owns the files in `--cert-dir` and the kubeconfig that a bootstrap leaves. The composition root starts them, and loads this
 * part only with `--bootstrap-kubeconfig`, `rotateCertificates` or `serverTLSBootstrap`. Upstream: pkg/kubelet/certificate,
 * client-go/util/certificate.
 */
export { ClientCredentials, type ClientCredentialsOptions } from './client/client-credentials.ts';
export { ServingCertificate, type ServingCertificateOptions } from './serving/serving-certificate.ts';
