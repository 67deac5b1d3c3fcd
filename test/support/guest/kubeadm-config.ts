/** The configurations of kubeadm's commands, and what a test lets its cluster run. */
import { busyboxImage } from '../../../lab/containerd/local-images.ts';
import { kubernetesVersion } from '../../../src/shared/kubernetes/version.ts';
import { kubeadmPatches } from './kubeadm-node.ts';

/** A busy host needs more than the minutes of kubeadm. */
const timeouts = `timeouts: { kubeletHealthCheck: 8m, controlPlaneComponentHealthCheck: 8m, kubernetesAPICall: 6m, etcdAPICall: 6m, upgradeManifests: 8m }`;
const token = 'abcdef.0123456789abcdef';

/** A test cluster need not survive a power loss. Elections, and keys of RSA, take a guest much time. */
export const initConfig = `apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
bootstrapTokens: [{ token: ${token} }]
localAPIEndpoint: { advertiseAddress: 10.99.0.1 }
nodeRegistration: { kubeletExtraArgs: [{ name: node-labels, value: made-by=kubeadm }] }
patches: { directory: ${kubeadmPatches} }
${timeouts}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: ${kubernetesVersion}
networking: { podSubnet: 10.88.0.0/16 }
encryptionAlgorithm: ECDSA-P256
controllerManager: { extraArgs: [{ name: leader-elect, value: 'false' }] }
scheduler: { extraArgs: [{ name: leader-elect, value: 'false' }] }
etcd: { local: { extraArgs: [{ name: unsafe-no-fsync, value: 'true' }] } }
`;

/** With other timeouts the startup probes of the control plane would change, and all of it would be replaced. */
export const upgradeConfig = `apiVersion: kubeadm.k8s.io/v1beta4
kind: UpgradeConfiguration
${timeouts}
`;
export const controlPlaneUpgradeConfig = `${upgradeConfig}node: { patches: { directory: ${kubeadmPatches} } }\n`;

/** Two pods that run until they are stopped. */
export const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          {
            name: 'app',
            image: busyboxImage,
            command: ['sh', '-c', 'echo $(cat /var/run/secrets/kubernetes.io/serviceaccount/namespace); exec sleep 100000'],
          },
        ],
      },
    },
  },
};
