/**
 * A pod ends while the runtime creates its sandbox. The kubelet cancels the call, and cleans up. The runtime does not notice at once: it makes the cgroup of
 * the pod again, and then gives up its sandbox.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { podUIDOfCgroup } from '../../src/shared/cgroups/cgroup-names.ts';
import { Cleanups } from '../support/cleanups.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

const mount = '/sys/fs/cgroup';
const isV1 = !existsSync(join(mount, 'cgroup.controllers'));
/** A cgroup is reported after a second, and removed in the next round of housekeeping. */
const soonMs = 15_000;

/** While the file `hold` exists, runc waits before it creates a container, and its shim sleeps: else the shim would end runc when the call is cancelled. */
const runcScript = `#!/bin/sh
cd "$(dirname "$0")"
case " $* " in *" create "*)
  if [ -e hold ]; then
    kill -STOP $PPID
    touch held
    while [ -e hold ]; do sleep 0.05; done
    (cd "$OLDPWD" && runc "$@")
    code=$?
    kill -CONT $PPID
    exit $code
  fi;;
esac
cd "$OLDPWD" && exec runc "$@"
`;

describe('a sandbox that the runtime creates too late', () => {
  const hooks = new Cleanups();
  let node: TestNode;
  before(async () => {
    node = await TestNode.start(hooks, { runcScript });
    await node.startKubelet();
  });
  after(() => hooks.run());

  const level = (hierarchy: string) => join(mount, isV1 ? hierarchy : '', node.cgroupRoot, 'kubepods/burstable');
  const hierarchies = () => (isV1 ? readdirSync(mount).filter((hierarchy) => existsSync(level(hierarchy))) : ['']);
  /** The pods of the Burstable level that have a cgroup in any hierarchy. */
  const podsWithCgroup = () => {
    const uids = hierarchies().flatMap((hierarchy) => readdirSync(level(hierarchy)).map((name) => podUIDOfCgroup(name, 'cgroupfs')));
    return [...new Set(uids.filter((uid) => uid !== undefined))];
  };
  const hold = () => writeFileSync(join(node.folder, 'hold'), '');
  const release = () => ['hold', 'held'].forEach((file) => rmSync(join(node.folder, file)));

  /** Returns the pod's UID when runc waits. */
  async function untilHeld(name: string, spec: object): Promise<string> {
    hold();
    node.apply(aManifest(name, { containers: [aBusybox({ resources: { requests: { cpu: '500m' } } })], ...spec }));
    await waitUntil('runc waits', () => existsSync(join(node.folder, 'held')));
    return waitUntil('the kubelet has created the cgroup', () => podsWithCgroup()[0]);
  }

  /** Lets runc continue, and waits until the kubelet has found what it made, and has removed everything. */
  async function untilLateCgroupIsGone(uid: string): Promise<void> {
    await waitUntil('the pod has no cgroup', () => podsWithCgroup().length === 0);
    const before = node.log().length;
    release();
    const found = new RegExp(`(Orphaned pod found|made something of a pod after its end).*podUID="${uid}"`);
    await waitUntil('the kubelet has found the late cgroup', () => found.test(node.log().slice(before)), soonMs);
    await waitUntil('the late cgroup is gone', () => podsWithCgroup().length === 0, soonMs);
    const sandboxes = async () => (await node.cri.runtime.call('listPodSandbox', {}, { deadlineMs: 5000 })).items;
    await waitUntil('the runtime has no sandbox', async () => (await sandboxes()).length === 0, soonMs);
    assert.deepEqual(podsWithCgroup(), []);
    const [file, idle] = isV1 ? ['cpu.shares', '2'] : ['cpu.weight', '1'];
    await waitUntil('the level has the weight of no pod', () => readFileSync(join(level('cpu'), file), 'utf8').trim() === idle, soonMs);
  }

  test('leaves no cgroup of a removed pod behind', async () => {
    const uid = await untilHeld('removed', {});
    node.delete('removed');
    await untilLateCgroupIsGone(uid);
    await waitUntil('the pod has no directory', () => !existsSync(join(node.rootDir, 'pods', uid)), soonMs);
  });

  test('leaves no cgroup of a pod that has failed and still exists', async () => {
    // Long enough for a busy host to come to runc.
    const uid = await untilHeld('overdue', { activeDeadlineSeconds: 10 });
    await untilLateCgroupIsGone(uid);
    const [pod] = await node.pods();
    assert.deepEqual([pod?.metadata.uid, pod?.status?.phase, pod?.status?.reason], [uid, 'Failed', 'DeadlineExceeded']);
    node.delete('overdue');
  });
});
