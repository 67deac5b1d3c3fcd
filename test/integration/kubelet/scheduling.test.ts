/** The scheduling policy of the built daemon's threads and child processes. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { KubeletProcess } from '../../../lab/kubelet/kubelet-process.ts';
import { realTimeVariable } from '../../../src/main/threads/thread-priorities.ts';
import { startSimulatedRuntime, waitUntil } from '../../support/runtime/simulated-runtime.ts';

interface ScheduledThread {
  readonly process: 'kubelet' | 'child';
  readonly isMain: boolean;
  /** The class that ps(1) shows: TS is the default, RR is real time. */
  readonly policy: string;
  readonly nice: number;
}

/** Starts the daemon with a helper process and a credential plugin that writes its own `ps` output into a file. */
async function startKubelet(t: TestContext, environment: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'scheduling-'));
  t.after(async () => rmSync(folder, { recursive: true, force: true }));
  const pluginOutput = join(folder, 'of-plugin');
  const plugin = join(folder, 'plugin');
  writeFileSync(plugin, `#!/bin/sh\nps -o cls=,ni= -p $$ > ${pluginOutput}.new; mv ${pluginOutput}.new ${pluginOutput}; exit 1\n`);
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
  await waitUntil('the plugin was run', () => existsSync(pluginOutput));
  const [policy = '', nice] = readFileSync(pluginOutput, 'utf8').trim().split(/\s+/);
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

test('no thread of the daemon runs in real time, and only main changes its nice value', async (t) => {
  const { main, others } = await startKubelet(t);
  assert.equal(main.policy, 'TS');
  assert.deepEqual([...new Set(others.map(({ policy, nice }) => `${policy} ${nice}`))], ['TS 0']);
});

test('with the real-time setting, only main runs in real time: no other thread, no helper and no credential plugin', async (t) => {
  const { main, others } = await startKubelet(t, { [realTimeVariable]: 'true' });
  const isAllowed = spawnSync('chrt', ['--rr', '1', 'true']).status === 0;
  assert.equal(main.policy, isAllowed ? 'RR' : 'TS');
  assert.deepEqual([...new Set(others.map(({ policy, nice }) => `${policy} ${nice}`))], ['TS 0']);
});
