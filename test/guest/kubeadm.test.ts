/**
 * A cluster made by kubeadm of two hosts with this kubelet's package, on systemd and cgroup v2: a control plane of static pods, a node that joins it
 * with a token, a Deployment there, renewed certificates, a changed configuration of the nodes, and the end of both hosts. Each test needs those
 * before it.
 */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { busyboxImage } from '../../scripts/host/local-images.ts';
import { builtPackages } from '../support/guest/built-packages.ts';
import { kubernetesVersion } from '../../src/shared/kubernetes/version.ts';
import { GuestLink } from '../support/guest/guest-link.ts';
import type { GuestNode } from '../support/guest/guest-node.ts';
import { bootKubeadmNode, kubeadmPatches, kubeadmPrograms } from '../support/guest/kubeadm-node.ts';

const minutes = (count: number) => ({ timeoutMs: count * 60_000 });
/** A busy host needs more than the minutes of kubeadm. */
const timeouts = `timeouts: { kubeletHealthCheck: 8m, controlPlaneComponentHealthCheck: 8m, kubernetesAPICall: 6m, etcdAPICall: 6m, upgradeManifests: 8m }`;
const maxAttempts = 5;
const token = 'abcdef.0123456789abcdef';

/** The images of the add-ons are not built. A test cluster need not survive a power loss. */
const initConfig = `apiVersion: kubeadm.k8s.io/v1beta4
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
dns: { disabled: true }
proxy: { disabled: true }
etcd: { local: { extraArgs: [{ name: unsafe-no-fsync, value: 'true' }] } }
`;

/** With other timeouts the startup probes of the control plane would change, and all of it would be replaced. */
const upgradeConfig = `apiVersion: kubeadm.k8s.io/v1beta4
kind: UpgradeConfiguration
${timeouts}
`;
const controlPlaneUpgradeConfig = `${upgradeConfig}node: { patches: { directory: ${kubeadmPatches} } }\n`;

const deployment = {
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

describe('with kubeadm', () => {
  let link: GuestLink;
  let control: GuestNode;
  let worker: GuestNode;
  const tryKubectl = (command: string) => control.guest.check(`KUBECONFIG=/etc/kubernetes/admin.conf kubectl ${command}`, minutes(2));
  /** The API server of a busy host refuses some requests. */
  const kubectl = async (command: string) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await tryKubectl(command);
      } catch (err) {
        if (attempt === maxAttempts) throw err;
        await sleep(attempt * 3000);
      }
    }
  };
  /** Waits until kubectl prints the expected text. The API server may be away meanwhile. */
  const untilPrints = async (command: string, expected: string, timeoutMs = 300_000) => {
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const last = await tryKubectl(command).catch(String);
      if (last === expected) return;
      if (performance.now() > deadlineMs) throw new Error(`kubectl ${command} prints ${last}, not ${expected}`);
      await sleep(1000);
    }
  };
  const untilReady = (node: string) =>
    untilPrints(`get node ${node} -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}'`, 'True');
  /** Returns what kubeadm prints, with its warnings. */
  const kubeadm = async ({ guest }: GuestNode, command: string, limit: { readonly timeoutMs: number }) => {
    const { code, stdout, stderr } = await guest.run(`kubeadm ${command}`, limit);
    if (code !== 0) {
      const journal = await guest.check('journalctl -q --no-pager -o cat -n 40 -u kubelet');
      throw new Error(`kubeadm ${command}: exit code ${code}\n${stdout}\n${stderr}\n${journal}`);
    }
    return stdout + stderr;
  };
  const complaints = (output: string) => [...new Set(output.match(/(?<=\[)(WARNING|ERROR) \w+/g))];
  /** Debian's containerd has no RuntimeConfig, and the guest's kernel no huge pages. */
  const unrelated = ['WARNING ContainerRuntimeVersion', 'WARNING SystemVerification'];
  const read = ({ guest }: GuestNode, path: string) => guest.check(`cat ${path}`);
  /** The pods' sandboxes that run. Containers of the control plane may restart on a busy host. */
  const sandboxes = ({ guest }: GuestNode) =>
    guest.check(`
      ctr -n k8s.io tasks list -q | sort > /tmp/running
      ctr -n k8s.io containers list -q 'labels."io.cri-containerd.kind"==sandbox' | sort | comm -12 - /tmp/running`);
  const containers = ({ guest }: GuestNode) => guest.check('ctr -n k8s.io tasks list -q | sort');

  before(async () => {
    const programs = await kubeadmPrograms();
    const { deb } = builtPackages();
    link = GuestLink.create();
    const [left, right] = link.ends;
    const common = { programs, deb };
    [control, worker] = await Promise.all([
      bootKubeadmNode({ ...common, name: 'control', address: '10.99.0.1', network: left, memory: '3G', controlPlane: true }),
      bootKubeadmNode({ ...common, name: 'worker', address: '10.99.0.2', network: right, memory: '2G', controlPlane: false }),
    ]);
  });
  after(async () => {
    await Promise.all([control?.destroy(), worker?.destroy()]);
    link?.delete();
  });

  test('init makes a control plane of static pods, and its preflight checks find no errors', async () => {
    await control.guest.write('/root/init.yaml', initConfig);
    const output = await kubeadm(control, 'init --config /root/init.yaml', minutes(10));
    assert.deepEqual(complaints(output), unrelated);
    await untilReady('control');
    const pods = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'].map((name) => `${name}-control`).join(' ');
    await untilPrints("get pods -n kube-system --field-selector status.phase=Running -o jsonpath='{.items[*].metadata.name}'", pods);
    assert.equal(await kubectl("get nodes -l made-by=kubeadm -o jsonpath='{.items[*].metadata.name}'"), 'control');
  });

  test('join makes the other host a node, which runs a Deployment', async () => {
    const command = await control.guest.check('kubeadm token create --print-join-command', minutes(2));
    const output = await kubeadm(worker, command.replace(/^kubeadm /, ''), minutes(10));
    assert.deepEqual(complaints(output), unrelated);
    await untilReady('worker');
    await control.guest.write('/root/deployment.json', JSON.stringify(deployment));
    await kubectl('apply -f /root/deployment.json');
    await untilPrints("get deployment web -o jsonpath='{.status.availableReplicas}'", '2');
    assert.equal(await kubectl("get pods -l app=web -o jsonpath='{.items[*].spec.nodeName}'"), 'worker worker');
    assert.equal(await kubectl('logs deployment/web'), 'default');
  });

  test('a control plane with renewed certificates continues', async () => {
    const serial = async () => new X509Certificate(await read(control, '/etc/kubernetes/pki/apiserver.crt')).serialNumber;
    const server = () => control.guest.check('pidof kube-apiserver');
    const [oldSerial, oldServer] = [await serial(), await server()];
    await kubeadm(control, 'certs renew all', minutes(3));
    assert.notEqual(await serial(), oldSerial);
    // As kubeadm's documentation says: a static pod is restarted by moving its manifest away and back.
    const manifest = 'kube-apiserver.yaml';
    await control.guest.check(`mv /etc/kubernetes/manifests/${manifest} /root/`);
    await control.untilPrints('pidof kube-apiserver', '', 180_000);
    await control.guest.check(`mv /root/${manifest} /etc/kubernetes/manifests/`);
    await untilReady('control');
    assert.notEqual(await server(), oldServer);
  });

  test('upgrade node writes the node’s configuration again, with which the kubelet keeps its pods', async () => {
    const config = '/var/lib/kubelet/config.yaml';
    const edit = "sed '/^    maxPods: 50/d; s/^    kind: KubeletConfiguration/&\\n    maxPods: 50/'";
    const configMap = '-n kube-system get configmap kubelet-config -o yaml';
    await kubectl(`${configMap} | ${edit} | KUBECONFIG=/etc/kubernetes/admin.conf kubectl replace -f -`);
    const upgrade = async (node: GuestNode, name: string) => {
      const [old, running] = [await read(node, config), await sandboxes(node)];
      await node.guest.write('/root/upgrade.yaml', node === control ? controlPlaneUpgradeConfig : upgradeConfig);
      await kubeadm(node, 'upgrade node --config /root/upgrade.yaml', minutes(8));
      // The kubelet has not written to the file.
      assert.equal((await read(node, config)).replace('maxPods: 50\n', ''), old);
      await node.guest.check('systemctl restart kubelet');
      await untilPrints(`get node ${name} -o jsonpath='{.status.allocatable.pods}'`, '50');
      await untilReady(name);
      assert.equal(await sandboxes(node), running);
    };
    await Promise.all([upgrade(control, 'control'), upgrade(worker, 'worker')]);
    assert.equal(await kubectl("get pods -l app=web -o jsonpath='{.items[*].status.containerStatuses[*].restartCount}'"), '0 0');
  });

  test('the kubelet leaves the files of kubeadm as they are', async () => {
    for (const [node, flags] of [
      [control, '--node-labels=made-by=kubeadm'],
      [worker, ''],
    ] as const) {
      assert.equal(await read(node, '/var/lib/kubelet/kubeadm-flags.env'), `KUBELET_KUBEADM_ARGS="${flags}"`);
      const instance = 'containerRuntimeEndpoint: "unix:///var/run/containerd/containerd.sock"';
      assert.equal(await read(node, '/var/lib/kubelet/instance-config.yaml'), instance);
    }
  });

  test('reset ends a node with its pods, and leaves no mounts', async () => {
    assert.notEqual(await containers(worker), '');
    for (const node of [worker, control]) {
      await kubeadm(node, 'reset --force', minutes(5));
      // It has failed when it could not stop in time.
      assert.match((await node.guest.run('systemctl is-active kubelet')).stdout, /^(inactive|failed)$/m);
      assert.equal(await containers(node), '');
      assert.equal((await node.guest.run('grep /var/lib/kubelet /proc/mounts')).stdout, '');
      assert.equal(
        await node.guest.check('find /etc/kubernetes/manifests /var/lib/kubelet /var/lib/etcd -mindepth 1 2>/dev/null || true'),
        '',
      );
    }
  });
});
