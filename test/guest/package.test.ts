/** The Debian package and the container image on a bare Debian 12: installation, a pod, upgrade, change over from a package `kubelet`, removal. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buildPackages, type Packages } from '../../scripts/package/package.ts';
import { builtPackages } from '../support/guest/built-packages.ts';
import { GuestNode, statusOf } from '../support/guest/guest-node.ts';
import { kubeletConfig } from '../../lab/guest/guest-node-files.ts';
import { aManifest } from '../support/kubelet/test-node.ts';
import { kubernetesVersion } from '../../src/shared/kubernetes/version.ts';

const slow = { timeoutMs: 180_000 };

describe('the package', () => {
  let packages: Packages;
  let node: GuestNode;
  const print = (command: string) => node.guest.run(command).then(({ stdout }) => stdout.trim());
  const containerOf = async (name: string) => statusOf(await node.untilRunning(name))?.containerID;

  before(async () => {
    packages = builtPackages();
    node = await GuestNode.boot({ share: [dirname(packages.deb)] });
  });
  after(() => node?.destroy());

  test('has the same bytes when it is built again, by a user with another umask', () => {
    const again = mkdtempSync(join(tmpdir(), 'package-test-'));
    const before = process.umask(0o077);
    try {
      const digests = (built: Packages) =>
        Object.values(built).map((path) => createHash('sha256').update(readFileSync(path)).digest('hex'));
      assert.deepEqual(digests(buildPackages(again)), digests(packages));
    } finally {
      process.umask(before);
      rmSync(again, { recursive: true, force: true });
    }
  });

  test('is installed by dpkg alone, and takes the place of a package kubelet', async () => {
    const other = `mkdir -p /root/NAME/DEBIAN && printf 'Package: NAME\\nVersion: 1.36.0\\nArchitecture: all\\nMaintainer: a <a@b>\\nDescription: x\\nFIELD' > /root/NAME/DEBIAN/control && dpkg-deb -b /root/NAME /root/NAME.deb && dpkg -i /root/NAME.deb`;
    const install = (name: string, field = '') => node.guest.check(other.replaceAll('NAME', name).replace('FIELD', field));
    await install('kubelet');
    await node.guest.check(`dpkg -i ${packages.deb}`, slow);
    assert.equal(await print("dpkg-query -f '${Package} ${db:Status-Abbrev}\\n' -W '*kubelet*' | grep ii"), 'kubelet-ts ii');
    await install('needs-kubelet', 'Depends: kubelet (>= 1.19.0)\\n');
    await node.guest.check('dpkg -P needs-kubelet');
    assert.equal(await print('kubelet --version'), `Kubernetes ${kubernetesVersion}`);
    assert.equal(await print('systemctl is-enabled kubelet'), 'enabled');
    // Without a configuration it would take over the pods of containerd.
    assert.equal(await print('systemctl is-active kubelet'), 'inactive');
  });

  test('runs a pod as a systemd unit', async () => {
    const extra = '--config=/etc/kubernetes/kubelet.json --hostname-override=guest';
    await node.guest.check(`echo 'KUBELET_EXTRA_ARGS="${extra}"' > /etc/default/kubelet`);
    await node.startKubelet();
    await node.apply(aManifest('web', {}));
    await node.untilRunning('web');
    assert.equal(await print('pidof kubelet'), await print('systemctl show -p MainPID --value kubelet'));
    assert.notEqual(await print('ls /var/cache/kubelet-ts'), '');
    assert.equal(await print('dpkg -V kubelet-ts'), '??5?????? c /etc/default/kubelet');
  });

  test('applies its configuration when systemd reloads the unit', async () => {
    const pid = await print('systemctl show -p MainPID --value kubelet');
    await node.guest.check('systemctl reload kubelet');
    await node.untilPrints(
      "journalctl -q -u kubelet | grep -c 'No field of the configuration that can change without a restart has changed'",
      '1',
    );
    assert.equal(await print('systemctl show -p MainPID --value kubelet'), pid);
  });

  test('an upgrade restarts the kubelet, and keeps its settings and its pods', async () => {
    const [container, pid] = [await containerOf('web'), await print('systemctl show -p MainPID --value kubelet')];
    await node.guest.check(`dpkg -i ${packages.deb}`, slow);
    await node.untilHealthy();
    assert.notEqual(await print('systemctl show -p MainPID --value kubelet'), pid);
    assert.equal(await containerOf('web'), container);
  });

  test('a removed and purged package leaves running containers and the data of pods, and nothing else', async () => {
    const countContainers = 'ctr -n k8s.io tasks list -q | wc -l';
    const containers = await print(countContainers);
    await node.guest.check('dpkg -P kubelet-ts', slow);
    assert.equal(await print('pidof kubelet'), '');
    assert.equal(await print(countContainers), containers);
    assert.equal(await print('ls -d /var/lib/kubelet/pods'), '/var/lib/kubelet/pods');
    const left = 'find / -xdev -name "*kubelet*" -not -path "/var/lib/kubelet*" -not -path "/var/lib/containerd/*" -not -path "/root/*"';
    assert.equal(await print(`${left} -not -path "/etc/kubernetes/*" -not -path "/var/log/*"`), '');
    assert.match(await print('systemctl status kubelet 2>&1'), /could not be found/);
  });

  test('a container of the image is the node’s kubelet', async () => {
    const container = await print('ctr -n k8s.io tasks list -q | sort');
    await node.guest.write(
      '/etc/kubernetes/kubelet.json',
      JSON.stringify({ ...kubeletConfig, staticPodPath: '/etc/kubernetes/manifests' }),
    );
    await node.guest.check(`ctr images import --base-name local.example/kubelet-ts ${packages.image}`, slow);
    const mounts = ['/etc/kubernetes', '/var/lib/kubelet', '/var/log', '/run', '/sys', '/dev'].map(
      (path) => `--mount type=bind,src=${path},dst=${path},options=rbind:rshared:rw`,
    );
    const image = await print('ctr images list -q | grep kubelet-ts');
    await node.guest.check('mount --make-rshared /');
    await node.guest.check(
      `ctr run --detach --privileged --net-host --with-ns pid:/proc/1/ns/pid ${mounts.join(' ')} ${image} kubelet /usr/bin/kubelet --config=/etc/kubernetes/kubelet.json --hostname-override=guest`,
      slow,
    );
    await node.untilHealthy();
    await node.apply(aManifest('inside', {}));
    await node.untilRunning('inside');
    assert.ok((await print('ctr -n k8s.io tasks list -q | sort')).includes(container.split('\n')[0] ?? ''));
    assert.equal(await print('ctr tasks list -q'), 'kubelet');
  });
});
