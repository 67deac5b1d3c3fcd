/**
 * A cluster made by kubeadm of two hosts with this kubelet's package, on systemd and cgroup v2: a control plane of static pods, kube-proxy and CoreDNS,
 * a node that joins it with a token, a Deployment there, renewed certificates, a changed configuration of the nodes, and the end of both hosts. Each test
 * needs those before it.
 */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { builtPackages } from '../support/guest/built-packages.ts';
import { staticPods } from '../support/guest/control-plane-pods.ts';
import { GuestLink } from '../support/guest/guest-link.ts';
import type { GuestNode } from '../support/guest/guest-node.ts';
import { KubeadmAdmin, minutes, runKubeadm } from '../support/guest/kubeadm-admin.ts';
import { controlPlaneUpgradeConfig, deployment, initConfig, upgradeConfig } from '../support/guest/kubeadm-config.ts';
import { bootKubeadmNode, kubeadmPrograms, type KubeadmPrograms } from '../support/guest/kubeadm-node.ts';

describe('with kubeadm', () => {
  let link: GuestLink;
  let control: GuestNode;
  let worker: GuestNode;
  let programs: KubeadmPrograms;
  let admin: KubeadmAdmin;
  const folder = mkdtempSync(join(tmpdir(), 'kubeadm-'));
  const complaints = (output: string) => [...new Set(output.match(/(?<=\[)(WARNING|ERROR) \w+/g))].toSorted();
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
    programs = await kubeadmPrograms();
    const { deb } = builtPackages();
    link = GuestLink.create('10.99.0.254');
    admin = new KubeadmAdmin({ link, programs, folder });
    const [left, right] = link.ends;
    const common = { programs, deb };
    const [controlAddress, workerAddress] = ['10.99.0.1', '10.99.0.2'];
    const [controlPods, workerPods] = ['10.88.1.0/24', '10.88.2.0/24'];
    [control, worker] = await Promise.all([
      bootKubeadmNode({
        ...common,
        name: 'control',
        address: controlAddress,
        podSubnet: controlPods,
        routes: { [workerAddress]: workerPods },
        network: left,
        memory: '3G',
        controlPlane: true,
      }),
      bootKubeadmNode({
        ...common,
        name: 'worker',
        address: workerAddress,
        podSubnet: workerPods,
        routes: { [controlAddress]: controlPods },
        network: right,
        memory: '2G',
        controlPlane: false,
      }),
    ]);
  });
  after(async () => {
    await Promise.all([control?.destroy(), worker?.destroy()]);
    link?.delete();
    rmSync(folder, { recursive: true, force: true });
  });

  test('init makes a control plane of static pods, and its preflight checks find no errors', async () => {
    await control.guest.write('/root/init.yaml', initConfig);
    // kubeadm wants two CPUs for a control plane. With two a guest takes its host two to three times the CPU time.
    const output = await runKubeadm(control, 'init --config /root/init.yaml --ignore-preflight-errors=NumCPU', minutes(10));
    assert.deepEqual(complaints(output), [...unrelated, 'WARNING NumCPU'].toSorted());
    await control.guest.copyOut('/etc/kubernetes/admin.conf', admin.kubeconfig);
    await admin.untilReady('control');
    const running = 'get pods -n kube-system -l tier=control-plane --field-selector status.phase=Running';
    await admin.untilPrints(`${running} -o jsonpath='{.items[*].metadata.name}'`, staticPods.join(' '));
    await admin.untilPrints("get deployment -n kube-system coredns -o jsonpath='{.status.availableReplicas}'", '1');
    await admin.untilPrints("get daemonset -n kube-system kube-proxy -o jsonpath='{.status.numberReady}'", '1');
    assert.equal(await admin.kubectl("get nodes -l made-by=kubeadm -o jsonpath='{.items[*].metadata.name}'"), 'control');
  });

  test('join makes the other host a node, which runs a Deployment', async () => {
    const command = await admin.run('kubeadm token create --print-join-command');
    const output = await runKubeadm(worker, command.replace(/^kubeadm /, ''), minutes(10));
    assert.deepEqual(complaints(output), unrelated);
    await admin.untilReady('worker');
    const file = join(folder, 'deployment.json');
    writeFileSync(file, JSON.stringify(deployment));
    await admin.kubectl(`apply -f ${file}`);
    await admin.untilPrints("get deployment web -o jsonpath='{.status.availableReplicas}'", '2');
    assert.equal(await admin.kubectl("get pods -l app=web -o jsonpath='{.items[*].spec.nodeName}'"), 'worker worker');
    assert.equal(await admin.kubectl('logs deployment/web'), 'default');
  });

  test('a pod finds the API server by its name in the cluster’s DNS, and reaches it at the cluster IP', async () => {
    await admin.untilPrints("get daemonset -n kube-system kube-proxy -o jsonpath='{.status.numberReady}'", '2');
    const inPod = (command: string) => admin.kubectl(`exec deployment/web -- sh -c '${command}'`);
    // busybox' nslookup does not append the domains of resolv.conf, its nc does. Its wget needs files that the image does not have.
    assert.match(await inPod('nslookup kubernetes.default.svc.cluster.local'), /^Address: 10\.96\.0\.1$/m);
    const answer = await inPod('echo GET / HTTP/1.0 | nc -w 20 kubernetes.default 443');
    assert.match(answer, /Client sent an HTTP request to an HTTPS server/);
  });

  test('a control plane with renewed certificates continues', async () => {
    const serial = async () => new X509Certificate(await read(control, '/etc/kubernetes/pki/apiserver.crt')).serialNumber;
    const server = () => control.guest.check('pidof kube-apiserver');
    const [oldSerial, oldServer] = [await serial(), await server()];
    await runKubeadm(control, 'certs renew all', minutes(3));
    assert.notEqual(await serial(), oldSerial);
    // As kubeadm's documentation says: a static pod is restarted by moving its manifest away and back.
    const manifest = 'kube-apiserver.yaml';
    await control.guest.check(`mv /etc/kubernetes/manifests/${manifest} /root/`);
    await control.untilPrints('pidof kube-apiserver', '', 180_000);
    await control.guest.check(`mv /root/${manifest} /etc/kubernetes/manifests/`);
    await admin.untilReady('control');
    assert.notEqual(await server(), oldServer);
  });

  test('upgrade node writes the node’s configuration again, with which the kubelet keeps its pods', async () => {
    const config = '/var/lib/kubelet/config.yaml';
    const edit = "sed '/^    maxPods: 50/d; s/^    kind: KubeletConfiguration/&\\n    maxPods: 50/'";
    const configMap = '-n kube-system get configmap kubelet-config -o yaml';
    await admin.kubectl(`${configMap} | ${edit} | kubectl replace -f -`);
    const upgrade = async (node: GuestNode, name: string) => {
      const [old, running] = [await read(node, config), await sandboxes(node)];
      await node.guest.write('/root/upgrade.yaml', node === control ? controlPlaneUpgradeConfig : upgradeConfig);
      await runKubeadm(node, 'upgrade node --config /root/upgrade.yaml', minutes(8));
      // The kubelet has not written to the file.
      assert.equal((await read(node, config)).replace('maxPods: 50\n', ''), old);
      await node.guest.check('systemctl restart kubelet');
      await admin.untilPrints(`get node ${name} -o jsonpath='{.status.allocatable.pods}'`, '50');
      await admin.untilReady(name);
      assert.equal(await sandboxes(node), running);
    };
    await Promise.all([upgrade(control, 'control'), upgrade(worker, 'worker')]);
    assert.equal(await admin.kubectl("get pods -l app=web -o jsonpath='{.items[*].status.containerStatuses[*].restartCount}'"), '0 0');
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
      await runKubeadm(node, 'reset --force', minutes(5));
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
