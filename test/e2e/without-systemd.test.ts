/** A host without systemd, D-Bus and logind, whose configuration has settings that need them: the log names what is missing, and pods run. */
import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { kubeletPath } from '../support/kubelet/kubelet-command.ts';
import { runningOf } from '../support/kubelet/observed-node-state.ts';
import { aManifest, TestNode, type TestNodeOptions } from '../support/kubelet/test-node.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

/** Starts the kubelet in a mount namespace of its own, in which the folders of D-Bus and systemd are empty. */
async function startWithoutSystemd(t: TestContext, options: TestNodeOptions): Promise<{ node: TestNode; start: () => Promise<void> }> {
  const node = await TestNode.start(t, options);
  const executable = join(node.folder, 'kubelet-without-systemd');
  const hide = (folder: string) => `[ ! -d ${folder} ] || mount -t tmpfs tmpfs ${folder} || exit 1`;
  const script = `${hide('/run/dbus')}; ${hide('/run/systemd')}; exec ${kubeletPath} "$@"`;
  writeFileSync(executable, `#!/bin/sh\nexec unshare --mount sh -c '${script}' kubelet "$@"\n`);
  chmodSync(executable, 0o755);
  const start = () => node.startKubelet({ executable });
  await start();
  return { node, start };
}
const linesWith = (node: TestNode, text: string) =>
  node
    .log()
    .split('\n')
    .filter((line) => line.includes(text));

test('without logind a graceful shutdown is an error once, and pods start and survive a restart', async (t) => {
  const config = { shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '10s' };
  const { node, start } = await startWithoutSystemd(t, { config, env: { NOTIFY_SOCKET: '/run/systemd/notify' } });
  node.apply(aManifest('web'));
  await node.untilRunning('web');
  const failures = () => linesWith(node, '"Failed to start node shutdown manager');
  const first = await waitUntil('the failure is logged', () => failures()[0]);
  assert.match(first, /^E.*system_bus_socket.*a shutdown of the node may not wait for pods|^E.*may not wait for pods.*system_bus_socket/);
  const notified = linesWith(node, '"Could not notify the service manager"');
  assert.match(notified.join('\n'), /^W.*state="READY=1"/m);

  const containers = await runningOf(node);
  await node.stopKubelet();
  await start();
  await node.untilRunning('web');
  await waitUntil('the second process has tried', () => failures().length >= 2);
  assert.deepEqual(await runningOf(node), containers);
  // Several attempts of each process had the same reason.
  assert.equal(failures().length, 2);
  assert.equal((await node.healthz()).status, 200);
});

test('without systemd the cgroup driver systemd is an error of each pod that names D-Bus, and the kubelet is healthy', async (t) => {
  const { node } = await startWithoutSystemd(t, { config: { cgroupDriver: 'systemd', cgroupRoot: '' } });
  node.apply(aManifest('web'));
  const event = () => linesWith(node, 'reason="FailedCreatePodContainer"').find((line) => line.includes('system_bus_socket'));
  const line = await waitUntil('the pod has an event', event, 60_000);
  assert.match(line, /failed to connect to dbus/);
  assert.equal((await node.healthz()).status, 200);
  assert.deepEqual(await runningOf(node), []);
});
