/** The names by which host tools find the running kubelet. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

const read = (pid: number, file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8');
/** Returns the PIDs that the command prints. Other kubelets may run on this host. */
const pidsFrom = (command: string) => spawnSync('sh', ['-c', command], { encoding: 'utf8' }).stdout.trim().split(/\s+/).map(Number);
/** Child processes of all threads of the process. */
const childrenOf = (pid: number) =>
  execFileSync('sh', ['-c', `cat /proc/${pid}/task/*/children`], { encoding: 'utf8' })
    .trim()
    .split(/\s+/)
    .filter(Boolean)
    .map(Number);

test('the process is named kubelet and keeps its command line; the helper has another name', async (t) => {
  const node = await TestNode.start(t);
  await node.startKubelet();
  const pid = node.kubeletPid;
  assert.equal(read(pid, 'comm'), 'kubelet\n');
  const [program = '', ...args] = read(pid, 'cmdline').split('\0');
  assert.match(program, /\/kubelet$/);
  assert.equal(args[args.indexOf('--config') + 1], join(node.folder, 'kubelet.yaml'));
  assert.ok(args.includes('-v=4'));

  // The helper checks a typed hostPath.
  const volumes = [{ name: 'v', hostPath: { path: `${node.folder}/created`, type: 'DirectoryOrCreate' } }];
  node.apply(aManifest('web', { containers: [aBusybox({ volumeMounts: [{ name: 'v', mountPath: '/v' }] })], volumes }));
  await node.untilRunning('web');
  const helper = await waitUntil('the helper is named kube-helper', () =>
    childrenOf(pid).find((child) => read(child, 'comm') === 'kube-helper\n'),
  );
  for (const command of ['pidof kubelet', 'busybox pidof kubelet']) {
    const found = pidsFrom(command);
    assert.ok(found.includes(pid) && !found.includes(helper), `${command} finds ${found.join()}, not ${pid}`);
  }
  // Only the main thread is named kubelet; libuv's threads keep their common name.
  const threads = execFileSync('sh', ['-c', `cat /proc/${pid}/task/*/comm`], { encoding: 'utf8' }).split('\n');
  assert.equal(threads.filter((name) => name === 'kubelet').length, 1, threads.join());
  assert.equal(threads.filter((name) => name === 'libuv-worker').length, 17, threads.join());
});
