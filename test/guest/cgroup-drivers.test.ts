/** What cgroups must do on every host, on cgroup v2 with each driver. test/e2e/node-cgroups.test.ts has the same for cgroup v1. */
import { after, before, describe, test } from 'node:test';
import { cgroupPath, type CgroupName } from '../../src/shared/cgroups/cgroup-names.ts';
import { GuestNode } from '../support/guest/guest-node.ts';
import { limitBelowUsageWaits, memoryQosConfig, podsOfEachClassAreResized } from '../support/guest/resize-scenarios.ts';
import {
  allPodsHaveWhatIsNotReserved,
  burstableLevelFollowsItsPods,
  changedLevelIsSetAgain,
  hostileCgroupsAreRemoved,
  mountLine,
  changedManifestIsResized,
  podHasItsLimits,
  scenarioConfig,
  type CgroupHost,
} from '../support/kubelet/cgroup-scenarios.ts';

describe('cgroup v2', () => {
  let node: GuestNode;
  before(async () => {
    node = await GuestNode.start({ config: { ...scenarioConfig, ...memoryQosConfig } });
  });
  after(() => node?.destroy());

  for (const driver of ['systemd', 'cgroupfs'] as const) {
    describe(driver, () => {
      const folderOf = (cgroup: CgroupName) =>
        `/sys/fs/cgroup${cgroupPath(cgroup.slice(0, 3), driver)}${cgroup
          .slice(3)
          .map((name) => `/${name}`)
          .join('')}`;
      const host: CgroupHost = {
        version: 2,
        apply: (manifest) => node.apply(manifest),
        delete: (name) => node.delete(name),
        untilRunning: (name) => node.untilRunning(name),
        mountOptions: async (part) => mountLine(await node.guest.check('cat /proc/self/mounts'), part),
        containerCgroup: (id) => (driver === 'systemd' ? `cri-containerd-${id}.scope` : id),
        cores: () => node.guest.check('nproc').then(Number),
        memoryBytes: () => node.guest.check(`awk '/^MemTotal/ {print $2}' /proc/meminfo`).then((kibibytes) => Number(kibibytes) * 1024),
        read: (cgroup, _, file) => node.guest.run(`cat ${folderOf(cgroup)}/${file}`).then(({ stdout }) => stdout.trim()),
        write: (cgroup, _, file, value) => node.guest.check(`echo ${value} > ${folderOf(cgroup)}/${file}`).then(() => {}),
        exists: (cgroup) => node.guest.run(`test -e ${folderOf(cgroup)}`).then(({ code }) => code === 0),
      };

      before(async () => {
        // The node has started with it.
        if (driver === 'systemd') return;
        await node.guest.check(
          `sed -i 's/SystemdCgroup = .*/SystemdCgroup = false/' /etc/containerd/config.toml && systemctl restart containerd`,
        );
        await node.startKubelet({ ...scenarioConfig, cgroupDriver: driver });
      });

      test('a pod’s cgroup has its limits, and is gone after the pod', () => podHasItsLimits(host));
      if (driver === 'cgroupfs') {
        test('a manifest whose resources change is resized in place', () => changedManifestIsResized(host));
      } else {
        test('pods of each class grow and shrink in place, and nothing else of their cgroups changes', () =>
          podsOfEachClassAreResized(node));
        test('a memory limit below the usage waits until the memory is free', () => limitBelowUsageWaits(node));
      }
      test('all pods have what is not reserved', () => allPodsHaveWhatIsNotReserved(host));
      test('the weight of the Burstable level follows its pods', () => burstableLevelFollowsItsPods(host));
      test('what a privileged container has made in its pod’s cgroup is removed with the pod', () => hostileCgroupsAreRemoved(host));
      test('a level that another tool has changed is set again within a minute', async () => {
        await node.startKubelet({ ...scenarioConfig, cgroupDriver: driver }, { timeFactor: 4 });
        await changedLevelIsSetAgain(host);
      });
    });
  }
});
