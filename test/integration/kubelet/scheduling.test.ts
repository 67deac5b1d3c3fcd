/** How the host schedules the threads of the shipped daemon and the processes that it starts. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { KubeletProcess } from '../../../bench/harness/kubelet-process.ts';
import { realTimeVariable } from '../../../src/main/threads/thread-priorities.ts';
import { startSimulatedRuntime, waitUntil } from '../../support/simulated-runtime.ts';

interface ScheduledThread {
  readonly process: 'kubelet' | 'child';
  readonly isMain: boolean;
  /** Of ps(1): TS goes by nice values, RR is in real time. */
  readonly policy: string;
  readonly nice: number;
}

/** The daemon with a helper beside it and a credential plugin, which keeps what `ps` says of itself. */
async function startKubelet(t: TestContext, environment: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'scheduling-'));
  t.after(async () => rmSync(folder, { recursive: true, force: true }));
  const ofPlugin = join(folder, 'of-plugin');
  const plugin = join(folder, 'plugin');
  writeFileSync(plugin, `#!/bin/sh\nps -o cls=,ni= -p $$ > ${ofPlugin}.new; mv ${ofPlugin}.new ${ofPlugin}; exit 1\n`);
  chmodSync(plugin, 0o755);
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigWithPlugin(plugin)));
  const runtime = await startSimulatedRuntime(t, { images: [{ name: 'sim/run:1' }] });
  const member = { nodeName: 'bench', kubeconfig };
  const kubelet = await KubeletProcess.start({ runtimeEndpoint: runtime.endpoint, member, environment });
  t.after(() => kubelet.stop());
  kubelet.writePod('helped', {
    containers: [{ name: 'app', image: 'sim/run:1', imagePullPolicy: 'Never', volumeMounts: [{ name: 'etc', mountPath: '/host' }] }],
    volumes: [{ name: 'etc', hostPath: { path: '/etc', type: 'Directory' } }],
  });
  const threads = await waitUntil('the helper runs', () => {
    const all = threadsOf(kubelet.pid);
    return all.some(({ process }) => process === 'child') ? all : null;
  });
  await waitUntil('the plugin was run', () => existsSync(ofPlugin));
  const [policy = '', nice] = readFileSync(ofPlugin, 'utf8').trim().split(/\s+/);
  const main = threads.find(({ isMain }) => isMain)!;
  return { main, others: [...threads.filter((thread) => thread !== main), { policy, nice: Number(nice) }] };
}

function kubeconfigWithPlugin(command: string): object {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'u', user: { exec } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
}

function threadsOf(pid: number): ScheduledThread[] {
  const { stdout } = spawnSync('ps', ['-eLo', 'pid=,ppid=,lwp=,cls=,ni='], { encoding: 'utf8' });
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([own, parent, thread, policy = '', nice]): ScheduledThread[] => {
      const isKubelet = Number(own) === pid;
      if (!isKubelet && Number(parent) !== pid) return [];
      return [{ process: isKubelet ? 'kubelet' : 'child', isMain: Number(thread) === pid, policy, nice: Number(nice) }];
    });
}

test('no thread of the daemon runs in real time, and none but main has a nice value of its own', async (t) => {
  const { main, others } = await startKubelet(t);
  assert.equal(main.policy, 'TS');
  assert.deepEqual([...new Set(others.map(({ policy, nice }) => `${policy} ${nice}`))], ['TS 0']);
});

test('where an operator wants real time, main alone has it: no other thread, no helper and no credential plugin', async (t) => {
  const { main, others } = await startKubelet(t, { [realTimeVariable]: 'true' });
  const isAllowed = spawnSync('chrt', ['--rr', '1', 'true']).status === 0;
  assert.equal(main.policy, isAllowed ? 'RR' : 'TS');
  assert.deepEqual([...new Set(others.map(({ policy, nice }) => `${policy} ${nice}`))], ['TS 0']);
});
