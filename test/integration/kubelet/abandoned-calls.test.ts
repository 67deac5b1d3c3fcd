/**
 * The runtime makes a sandbox or a cgroup of a pod after the pod has ended: it has not noticed that the kubelet has cancelled its call. The cgroups are the
 * kernel's; the simulated runtime has none, so the tests make what a runtime would.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createCgroup, removeCgroup } from '../../../lab/host/cgroups.ts';
import { StandaloneNode } from '../../support/kubelet/standalone-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const timeout = 120_000;
const mount = '/sys/fs/cgroup';
const existsAnywhere = (cgroup: string) => ['', ...readdirSync(mount)].some((hierarchy) => existsSync(join(mount, hierarchy, cgroup)));

async function aNodeWithCgroups(t: TestContext) {
  const cgroupRoot = `/late-sandboxes-${process.pid}`;
  createCgroup(cgroupRoot);
  // The node's end comes first: hooks run in the order of their registration.
  const node = await StandaloneNode.start(t);
  t.after(() => assert.ok(removeCgroup(cgroupRoot)));
  await node.startKubelet({ cgroupsPerQOS: true, cgroupRoot, failCgroupV1: false });
  return {
    node,
    /** Starts a pod. Returns the path of its cgroup when the runtime creates its sandbox. */
    startPod: async (name: string, spec: object = {}): Promise<string> => {
      node.writeManifest(`${name}.json`, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: { dnsPolicy: 'Default', containers: [{ name: 'app', image: 'sim/run:1' }], ...spec },
      });
      const { metadata } = await node.waitForPod(name, 'is known', () => true);
      const cgroup = join(cgroupRoot, 'kubepods/besteffort', `pod${metadata.uid}`);
      const inFlight = async () => (await node.runtime.control.counters())['RunPodSandbox']?.inFlight ?? 0;
      await waitUntil('the runtime creates the sandbox', async () => (await inFlight()) > 0 && existsAnywhere(cgroup));
      return cgroup;
    },
    untilGone: (cgroup: string) => waitUntil('the pod has no cgroup', () => !existsAnywhere(cgroup)),
  };
}

test('a cgroup that the runtime makes after its pod was removed is removed', { timeout }, async (t) => {
  const { node, startPod, untilGone } = await aNodeWithCgroups(t);
  await node.runtime.control.fault({ call: 'RunPodSandbox', kind: 'hang' });
  const cgroup = await startPod('removed');
  node.removeManifest('removed.json');
  await untilGone(cgroup);
  createCgroup(cgroup);
  await untilGone(cgroup);
});

test('a sandbox that the runtime makes after its pod was removed is removed with its cgroup', { timeout }, async (t) => {
  const { node, startPod, untilGone } = await aNodeWithCgroups(t);
  const { control } = node.runtime;
  await control.fault({ call: 'RunPodSandbox', kind: 'late' });
  const cgroup = await startPod('removed');
  node.removeManifest('removed.json');
  await untilGone(cgroup);
  createCgroup(cgroup);
  await control.clearFaults();
  await waitUntil('the sandbox exists', async () => (await control.state()).sandboxes.length > 0);
  await untilGone(cgroup);
  await waitUntil('the sandbox is removed', async () => (await control.state()).sandboxes.length === 0);
});

test(
  'a sandbox that the runtime makes of a pod that has failed and still exists is stopped, and its cgroup removed',
  { timeout },
  async (t) => {
    const { node, startPod, untilGone } = await aNodeWithCgroups(t);
    const { control } = node.runtime;
    await control.fault({ call: 'RunPodSandbox', kind: 'late' });
    const cgroup = await startPod('overdue', { activeDeadlineSeconds: 10 });
    await untilGone(cgroup);
    createCgroup(cgroup);
    await control.clearFaults();
    await waitUntil('the sandbox exists', async () => (await control.state()).sandboxes.length > 0);
    await untilGone(cgroup);
    await waitUntil('the sandbox is stopped', async () => (await control.state()).sandboxes.every(({ state }) => state === 'notReady'));
    const pod = await node.pod('overdue');
    assert.deepEqual([pod?.status?.phase, pod?.status?.reason], ['Failed', 'DeadlineExceeded']);
  },
);
