/**
 * On the host of a control plane that kubeadm has made, the package of this project's build for the earlier minor version of Kubernetes is replaced by
 * that of this one, and the other way round. Run by npm run test:upgrade.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { earlierVersion, ensureEarlierPackage } from '../../scripts/upgrade/earlier-package.ts';
import { kubernetesVersion } from '../../src/shared/kubernetes/version.ts';
import { builtPackages } from '../support/guest/built-packages.ts';
import { apiPods, startedSandboxes, staticPods, staticPodsOf, type StaticPod } from '../support/guest/control-plane-pods.ts';
import { GuestLink } from '../support/guest/guest-link.ts';
import type { GuestNode } from '../support/guest/guest-node.ts';
import { KubeadmAdmin, minutes, runKubeadm } from '../support/guest/kubeadm-admin.ts';
import { deployment, initConfig } from '../support/guest/kubeadm-config.ts';
import { bootKubeadmNode, kubeadmPrograms } from '../support/guest/kubeadm-node.ts';

describe('an upgrade of the package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'upgrade-'));
  const { deb } = builtPackages();
  const earlierDeb = ensureEarlierPackage(console.log);
  let link: GuestLink;
  let control: GuestNode;
  let admin: KubeadmAdmin;

  /** Waits until all static pods of the control plane are ready, and none has one of the given UIDs. Returns their UIDs. */
  const untilStaticPods = async (replaced: readonly (string | undefined)[]) => {
    const deadlineMs = performance.now() + 300_000;
    for (;;) {
      // Their replacement takes the API server away.
      const pods = await staticPodsOf((command) => admin.tryKubectl(command)).catch(String);
      const isNew = ({ uid, isReady }: StaticPod) => isReady && !replaced.includes(uid);
      if (typeof pods !== 'string' && pods.length === staticPods.length && pods.every(isNew)) return pods.map(({ uid }) => uid);
      assert.ok(performance.now() < deadlineMs, `the static pods are ${JSON.stringify(pods)}; before: ${replaced.join()}`);
      await sleep(1000);
    }
  };
  /** Each static pod is replaced once, as with the Go kubelet, and no other pod is touched. Returns the UIDs of the static pods before and after. */
  const replacePackage = async (path: string, version: string) => {
    const oldPods = await untilStaticPods([]);
    const [starts, pods] = await Promise.all([startedSandboxes(control.guest), apiPods((command) => admin.kubectl(command))]);
    await control.guest.check(`dpkg -i ${path}`, minutes(5));
    await admin.untilPrints("get node control -o jsonpath='{.status.nodeInfo.kubeletVersion}'", version);
    const newPods = await untilStaticPods(oldPods);
    await admin.untilReady('control');
    assert.deepEqual((await startedSandboxes(control.guest)).slice(starts.length).toSorted(), staticPods);
    assert.deepEqual(await apiPods((command) => admin.kubectl(command)), pods);
    assert.equal(await admin.kubectl('logs deployment/web'), 'default');
    return { oldPods, newPods };
  };

  before(async () => {
    const programs = await kubeadmPrograms();
    link = GuestLink.create('10.99.0.254');
    admin = new KubeadmAdmin({ link, programs, folder });
    control = await bootKubeadmNode({
      name: 'control',
      address: '10.99.0.1',
      podSubnet: '10.88.1.0/24',
      routes: {},
      network: link.ends[0],
      memory: '3G',
      programs,
      deb: earlierDeb,
      share: [dirname(deb)],
      controlPlane: true,
    });
    await control.guest.write('/root/init.yaml', initConfig);
    await runKubeadm(control, 'init --config /root/init.yaml --ignore-preflight-errors=NumCPU', minutes(10));
    await control.guest.copyOut('/etc/kubernetes/admin.conf', admin.kubeconfig);
    await admin.kubectl('taint node control node-role.kubernetes.io/control-plane-');
    const file = join(folder, 'deployment.json');
    writeFileSync(file, JSON.stringify(deployment));
    await admin.kubectl(`apply -f ${file}`);
    await admin.untilPrints("get deployment web -o jsonpath='{.status.availableReplicas}'", '2');
    await admin.untilPrints("get deployment -n kube-system coredns -o jsonpath='{.status.availableReplicas}'", '1');
    assert.equal(await admin.kubectl("get node control -o jsonpath='{.status.nodeInfo.kubeletVersion}'"), earlierVersion);
  });
  after(async () => {
    await control?.destroy();
    link?.delete();
    rmSync(folder, { recursive: true, force: true });
  });

  test('replaces each static pod once, and no other pod, and so does the way back, with the same UIDs', async () => {
    const { oldPods } = await replacePackage(deb, kubernetesVersion);
    const { newPods } = await replacePackage(earlierDeb, earlierVersion);
    assert.deepEqual(newPods, oldPods);
  });

  test('is an upgrade for the package manager', async () => {
    const version = (path: string) => `$(dpkg-deb --field ${path} Version)`;
    await control.guest.check(`dpkg --compare-versions "${version(earlierDeb)}" lt "${version(deb)}"`);
  });
});
