/** The flags of each program: what kubeadm would give them, on loopback, with a certificate for every connection. */
import { join } from 'node:path';
import type { CertificateFiles } from './control-plane-certificates.ts';

export interface ControlPlanePorts {
  readonly etcdClient: number;
  readonly etcdPeer: number;
  readonly apiServer: number;
  readonly controllerManager: number;
  readonly scheduler: number;
}

export interface ControlPlaneFiles {
  readonly folder: string;
  readonly ca: CertificateFiles;
  readonly etcd: CertificateFiles;
  readonly etcdClient: CertificateFiles;
  readonly apiServer: CertificateFiles;
  readonly kubeletClient: CertificateFiles;
  readonly serviceAccountPublicKey: string;
  readonly serviceAccountPrivateKey: string;
  readonly auditPolicy: string;
  readonly auditLog: string;
  readonly controllerManagerKubeconfig: string;
  readonly schedulerKubeconfig: string;
}

export const serviceClusterIpRange = '10.96.0.0/16';
/** The first of the range: the API server's own, `kubernetes.default`. */
export const kubernetesServiceIp = '10.96.0.1';
export const serviceAccountIssuer = 'https://kubernetes.default.svc.cluster.local';

export function etcdFlags(ports: ControlPlanePorts, files: ControlPlaneFiles): string[] {
  const client = `https://127.0.0.1:${ports.etcdClient}`;
  const peer = `https://127.0.0.1:${ports.etcdPeer}`;
  const { certFile, keyFile } = files.etcd;
  return [
    '--name=control-plane',
    `--data-dir=${etcdDataFolder(files.folder)}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=control-plane=${peer}`,
    `--cert-file=${certFile}`,
    `--key-file=${keyFile}`,
    '--client-cert-auth',
    `--trusted-ca-file=${files.ca.certFile}`,
    `--peer-cert-file=${certFile}`,
    `--peer-key-file=${keyFile}`,
    '--peer-client-cert-auth',
    `--peer-trusted-ca-file=${files.ca.certFile}`,
    // A write costs 5 ms and more with it on an ordinary disk; what is lost with the host's power is a test's cluster.
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
}

export function etcdDataFolder(folder: string): string {
  return join(folder, 'etcd-data');
}

export function apiServerFlags(ports: ControlPlanePorts, files: ControlPlaneFiles): string[] {
  return [
    `--etcd-servers=https://127.0.0.1:${ports.etcdClient}`,
    `--etcd-cafile=${files.ca.certFile}`,
    `--etcd-certfile=${files.etcdClient.certFile}`,
    `--etcd-keyfile=${files.etcdClient.keyFile}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.apiServer}`,
    `--tls-cert-file=${files.apiServer.certFile}`,
    `--tls-private-key-file=${files.apiServer.keyFile}`,
    `--client-ca-file=${files.ca.certFile}`,
    '--advertise-address=127.0.0.1',
    // An endpoint on loopback is refused; nothing routes the service's address here anyway.
    '--endpoint-reconciler-type=none',
    `--kubelet-client-certificate=${files.kubeletClient.certFile}`,
    `--kubelet-client-key=${files.kubeletClient.keyFile}`,
    `--kubelet-certificate-authority=${files.ca.certFile}`,
    '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--enable-bootstrap-token-auth',
    '--allow-privileged',
    `--service-cluster-ip-range=${serviceClusterIpRange}`,
    `--service-account-issuer=${serviceAccountIssuer}`,
    `--service-account-signing-key-file=${files.serviceAccountPrivateKey}`,
    `--service-account-key-file=${files.serviceAccountPublicKey}`,
    `--audit-policy-file=${files.auditPolicy}`,
    `--audit-log-path=${files.auditLog}`,
    '--audit-log-maxsize=100',
    '--audit-log-maxbackup=1',
  ];
}

/** What nodes ask for, once answered: tests count a kubelet's requests by it. Of what they say of pods each word, to tell why they said it. */
export const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'Request', userGroups: ['system:nodes'], resources: [{ group: '', resources: ['pods/status'] }] },
    { level: 'Metadata', userGroups: ['system:nodes'] },
    { level: 'None' },
  ],
};

export function controllerManagerFlags(ports: ControlPlanePorts, files: ControlPlaneFiles): string[] {
  return [
    `--kubeconfig=${files.controllerManagerKubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.controllerManager}`,
    '--leader-elect=false',
    // At its start it makes a service account and a token for each controller: four seconds at the 20 calls a second of the default.
    '--kube-api-qps=200',
    '--kube-api-burst=400',
    '--use-service-account-credentials',
    `--service-account-private-key-file=${files.serviceAccountPrivateKey}`,
    `--root-ca-file=${files.ca.certFile}`,
    `--cluster-signing-cert-file=${files.ca.certFile}`,
    `--cluster-signing-key-file=${files.ca.keyFile}`,
    // It makes this folder where it is missing; the default one is in the host's /usr.
    `--flex-volume-plugin-dir=${join(files.folder, 'flexvolume')}`,
    `--service-cluster-ip-range=${serviceClusterIpRange}`,
  ];
}

export function schedulerFlags(ports: ControlPlanePorts, files: ControlPlaneFiles): string[] {
  return [
    `--kubeconfig=${files.schedulerKubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.scheduler}`,
    '--leader-elect=false',
  ];
}
