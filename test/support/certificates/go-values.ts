/**
 * Values of upstream's own code for the P-256 key with the number 123456789 and the node `node-a`: certutil.MakeCSRFromTemplate, digestedName of
 * pkg/kubelet/certificate/bootstrap, clientcmd.WriteToFile.
 */

/** keyutil's encoding of the key. */
export const goKey = `-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAHW80VoAoGCCqGSM49
AwEHoUQDQgAE+1A4jylJjQqTrSXsTDQDe508w8ykeH62/tq+KzAD6sifd2XKnWKI
5v9zT1zQjzpZIc9UshuzmLUKwNJXf6B0cg==
-----END EC PRIVATE KEY-----
`;

/** RawTBSCertificateRequest, in base64. The server's has the DNS names a.example and node-a, and the addresses 10.0.0.1 and fd00::1. */
export const goRequests = {
  client:
    'MIGWAgEAMDQxFTATBgNVBAoTDHN5c3RlbTpub2RlczEbMBkGA1UEAxMSc3lzdGVtOm5vZGU6bm9kZS1hMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+1A4jylJjQqTrSXsTDQDe508w8ykeH62/tq+KzAD6sifd2XKnWKI5v9zT1zQjzpZIc9UshuzmLUKwNJXf6B0cqAA',
  server:
    'MIHdAgEAMDQxFTATBgNVBAoTDHN5c3RlbTpub2RlczEbMBkGA1UEAxMSc3lzdGVtOm5vZGU6bm9kZS1hMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+1A4jylJjQqTrSXsTDQDe508w8ykeH62/tq+KzAD6sifd2XKnWKI5v9zT1zQjzpZIc9UshuzmLUKwNJXf6B0cqBHMEUGCSqGSIb3DQEJDjE4MDYwNAYDVR0RBC0wK4IJYS5leGFtcGxlggZub2RlLWGHBAoAAAGHEP0AAAAAAAAAAAAAAAAAAAE=',
};

/** A complete request for the client, as another kubelet would have made it with the same key. */
export const goRequestPEM = `-----BEGIN CERTIFICATE REQUEST-----
MIHvMIGWAgEAMDQxFTATBgNVBAoTDHN5c3RlbTpub2RlczEbMBkGA1UEAxMSc3lz
dGVtOm5vZGU6bm9kZS1hMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+1A4jylJ
jQqTrSXsTDQDe508w8ykeH62/tq+KzAD6sifd2XKnWKI5v9zT1zQjzpZIc9Ushuz
mLUKwNJXf6B0cqAAMAoGCCqGSM49BAMCA0gAMEUCIQCY2ujQRvC9c28Hz0gmZt0P
yzf+nv+uKAU7kai70uLgbAIgWWl4Im6nXq1eQviX6J/IuEXggHhGFZmtAZBTPOvU
Hh4=
-----END CERTIFICATE REQUEST-----
`;

/** With the usages `digital signature` and `client auth`. */
export const goRequestName = 'node-csr-ftp0CvxyQdSZJvkO6cwp4Xvy_OxYQbam7mEapLgkQ20';

/** The end of a kubeconfig that the Go kubelet writes after its bootstrap. `current` is the file of the client certificate. */
export const goKubeconfigTail = (current: string): string => `  name: default-cluster
contexts:
- context:
    cluster: default-cluster
    namespace: default
    user: default-auth
  name: default-context
current-context: default-context
kind: Config
users:
- name: default-auth
  user:
    client-certificate: ${current}
    client-key: ${current}
`;
const kubeconfigTail = goKubeconfigTail('/var/lib/kubelet/pki/kubelet-client-current.pem');

/** The first has the authority's data `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n` and 100 zero bytes. */
export const goKubeconfigs = {
  data: `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
    server: https://10.0.0.1:6443
${kubeconfigTail}`,
  file: `apiVersion: v1
clusters:
- cluster:
    certificate-authority: /etc/kubernetes/pki/ca.crt
    server: https://api.example/prefix
${kubeconfigTail}`,
  insecure: `apiVersion: v1
clusters:
- cluster:
    insecure-skip-tls-verify: true
    server: http://10.0.0.1:8080
${kubeconfigTail}`,
};
