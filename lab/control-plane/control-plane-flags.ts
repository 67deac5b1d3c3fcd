/** The flags of the control plane's programs: kubeadm's, with loopback addresses and certificates for every connection. */
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
  /** Of the API server. */
  readonly address: string;
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
/** The address of the Service `kubernetes.default`, the first of the range. */
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
    // fsync costs 5 ms or more per write on an ordinary disk, and a test cluster need not survive a power loss.
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
    `--bind-address=${files.address}`,
    `--secure-port=${ports.apiServer}`,
    `--tls-cert-file=${files.apiServer.certFile}`,
    `--tls-private-key-file=${files.apiServer.keyFile}`,
    `--client-ca-file=${files.ca.certFile}`,
    `--advertise-address=${files.address}`,
    // The API server refuses loopback endpoints, and nothing routes the Service's address here.
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

/** Logs the requests of nodes after their response, which tests count. Status updates of pods are logged with their body. */
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
    // At its start it creates a service account and a token per controller, which takes 4 s with the default of 20 requests per second.
    '--kube-api-qps=200',
    '--kube-api-burst=400',
    '--use-service-account-credentials',
    `--service-account-private-key-file=${files.serviceAccountPrivateKey}`,
    `--root-ca-file=${files.ca.certFile}`,
    `--cluster-signing-cert-file=${files.ca.certFile}`,
    `--cluster-signing-key-file=${files.ca.keyFile}`,
    // The controller manager creates this folder; the default is in the host's /usr.
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
