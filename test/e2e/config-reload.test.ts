/** A changed configuration is applied without a restart, or refused as a whole. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Agent, request } from 'undici';
import { parse, stringify } from 'yaml';
import { reservePort } from '../../lab/host/reserve-ports.ts';
import type { EvictionPlan } from '../../src/shared/contracts/eviction.ts';
import type { ImageGcPlan } from '../../src/shared/contracts/images.ts';
import { Cleanups } from '../support/cleanups.ts';
import { ensureBuilt, kubeletPath, RunningKubelet } from '../support/kubelet/kubelet-command.ts';
import { runLocalCommand } from '../support/kubelet/local-command.ts';
import { prepareKubelet, waitUntilHealthy } from '../support/kubelet/prepared-kubelet.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

interface Configz {
  readonly kubeletconfig: Readonly<Record<string, unknown>>;
  readonly kubeletconfigreload?: { readonly outcome: string; readonly error?: string; readonly needsRestart: readonly string[] };
}

const timeoutMs = 60_000;

describe('a reload of the configuration', () => {
  const hooks = new Cleanups();
  let node: TestNode;
  let port: number;
  let file: string;
  let original: Record<string, unknown>;
  let pid: number;

  before(async () => {
    port = await reservePort();
    node = await TestNode.start(hooks, {
      config: {
        port,
        authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
        authorization: { mode: 'AlwaysAllow' },
        evictionPressureTransitionPeriod: '1s',
      },
    });
    await node.startKubelet();
    file = join(node.folder, 'kubelet.yaml');
    original = parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    pid = node.kubeletPid;
  });
  after(() => hooks.run());

  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  hooks.after(() => dispatcher.destroy());
  const configz = async () => {
    const { body } = await request(`https://127.0.0.1:${port}/configz`, { dispatcher });
    return (await body.json()) as Configz;
  };
  /** Replaces the file by a rename, as editors do. */
  const replace = (content: string) => {
    writeFileSync(`${file}.new`, content);
    rmSync(file, { recursive: true, force: true });
    renameSync(`${file}.new`, file);
  };
  const change = (fields: Record<string, unknown>) => replace(stringify({ ...original, ...fields }));
  const untilConfigz = (what: string, condition: (page: Configz) => boolean) =>
    waitUntil(`configz ${what}`, async () => condition(await configz()), timeoutMs);
  const untilField = (field: string, value: unknown) =>
    untilConfigz(`has ${field}`, ({ kubeletconfig }) => JSON.stringify(kubeletconfig[field]) === JSON.stringify(value));
  const untilFailed = (error: RegExp) =>
    untilConfigz(
      `has the error ${error}`,
      ({ kubeletconfigreload: reload }) => reload?.outcome === 'failed' && error.test(reload.error ?? ''),
    );
  const occurrences = (text: string) => node.log().split(text).length - 1;

  test('changes the thresholds of image garbage collection, the limits of logs, and keeps pods and process', async () => {
    node.apply(aManifest('logging', { containers: [aBusybox({ sh: 'seq 20000; while :; do sleep 1; done' })] }));
    const pod = await node.untilRunning('logging');
    const folder = join(node.podLogs, `${pod.metadata.namespace}_${pod.metadata.name}_${pod.metadata.uid}`, 'app');
    assert.equal((await configz()).kubeletconfigreload, undefined);
    change({
      imageGCHighThresholdPercent: 97,
      imageGCLowThresholdPercent: 96,
      containerLogMaxSize: '10Ki',
      containerLogMonitorInterval: '3s',
    });
    await waitUntil(
      'the plan of image garbage collection has the new thresholds',
      async () => {
        const { stdout } = await runLocalCommand('image-gc', node.rootDir, '-o', 'json');
        const { highThresholdPercent, lowThresholdPercent } = JSON.parse(stdout) as ImageGcPlan;
        return highThresholdPercent === 97 && lowThresholdPercent === 96;
      },
      timeoutMs,
    );
    await waitUntil('the log is rotated', () => readdirSync(folder).some((name) => /^0\.log\.\d{8}-/.test(name)), timeoutMs);
    const { kubeletconfig, kubeletconfigreload } = await configz();
    assert.deepEqual([kubeletconfig['imageGCHighThresholdPercent'], kubeletconfig['containerLogMaxSize']], [97, '10Ki']);
    assert.deepEqual([kubeletconfigreload?.outcome, kubeletconfigreload?.needsRestart], ['applied', []]);
    assert.equal(occurrences('reason="ConfigurationReloaded"'), 1);
    const now = await node.untilRunning('logging');
    assert.deepEqual(now.status?.containerStatuses?.[0]?.containerID, pod.status?.containerStatuses?.[0]?.containerID);
    assert.equal(node.kubeletPid, pid);
  });

  test('changes the eviction thresholds: the node is under pressure by a new one, and no more when it is gone', async () => {
    const plan = async () => JSON.parse((await runLocalCommand('eviction', node.rootDir, '--json')).stdout) as EvictionPlan;
    const hasPressure = ({ conditions }: EvictionPlan) => conditions.some(({ type, status }) => type === 'MemoryPressure' && status);
    assert.deepEqual((await plan()).thresholds, []);
    // Static pods are not evicted.
    change({ evictionHard: { 'memory.available': '99.9%' } });
    await waitUntil('the node is under pressure', async () => hasPressure(await plan()), timeoutMs);
    await waitUntil('memory is to be reclaimed', () => occurrences('reason="EvictionThresholdMet"') > 0, timeoutMs);
    change({});
    await waitUntil('the pressure is over', async () => !hasPressure(await plan()), timeoutMs);
    assert.deepEqual((await plan()).thresholds, []);
  });

  test('reports the fields that need a restart, and applies the others', async () => {
    change({ maxPods: 42, kubeAPIQPS: 77 });
    await untilField('kubeAPIQPS', 77);
    const { kubeletconfig, kubeletconfigreload } = await configz();
    assert.equal(kubeletconfig['maxPods'], 110);
    assert.deepEqual(kubeletconfigreload?.needsRestart, ['maxPods']);
    assert.equal(occurrences('reason="ConfigurationNeedsRestart"'), 1);
    assert.match(node.log(), /eventMessage="Changes take effect when the kubelet restarts: maxPods"/);
    change({});
    await untilConfigz('needs no restart', (page) => page.kubeletconfigreload?.needsRestart.length === 0);
  });

  test('keeps the running configuration when a file is invalid, and says why', async () => {
    change({ imageGCHighThresholdPercent: 91, imageGCLowThresholdPercent: 50 });
    await untilField('imageGCHighThresholdPercent', 91);
    const before = (await configz()).kubeletconfig;
    const events = occurrences('reason="ConfigurationReloadFailed"');
    change({ imageGCHighThresholdPercent: 92, imageGCLowThresholdPercent: 95 });
    await untilFailed(/imageGCLowThresholdPercent/);
    change({ evictionHard: { 'memory.available': '1000Ti' } });
    await untilFailed(/memory/);
    replace('kind: [');
    await untilFailed(/line 1/);
    change({ noSuchField: 1, imageGCHighThresholdPercent: 93 });
    await untilFailed(/unknown field "noSuchField"/);
    assert.deepEqual((await configz()).kubeletconfig, before);
    assert.equal(occurrences('reason="ConfigurationReloadFailed"'), events + 4);
    change({ imageGCHighThresholdPercent: 94 });
    await untilField('imageGCHighThresholdPercent', 94);
  });

  test('survives what replaces the file: a folder, a FIFO, nothing, a link to itself, 100 MB, junk, half a file', async () => {
    const { kubeletconfig: before } = await configz();
    const hostile: [make: () => void, error: RegExp][] = [
      [() => mkdirSync(file), /is not a regular file|EISDIR/],
      [() => {}, /ENOENT/],
      [() => execFileSync('mkfifo', [file]), /is not a regular file/],
      [() => execFileSync('ln', ['-s', file, file]), /ELOOP/],
      [
        () => {
          writeFileSync(file, '');
          truncateSync(file, 100 * 1024 * 1024);
        },
        /is larger than/,
      ],
      [() => writeFileSync(file, Buffer.from([0, 0x9f, 0x92, 0x96, 1, 2, 0xff, 10, 0])), /is not text in UTF-8/],
      [() => writeFileSync(file, ''), /error: is empty/],
      [() => writeFileSync(file, `${stringify(original)}imageGCHighThr`), /Implicit map keys/],
    ];
    const errorLine = '"Could not reload the configuration; the running one stays in force"';
    const errors = occurrences(errorLine);
    for (const [make, error] of hostile) {
      rmSync(file, { recursive: true, force: true });
      make();
      await untilFailed(error);
      assert.equal((await node.healthz()).status, 200);
    }
    assert.ok(occurrences(errorLine) >= errors + hostile.length);
    assert.deepEqual((await configz()).kubeletconfig, before);
    change({ imageGCHighThresholdPercent: 95 });
    await untilField('imageGCHighThresholdPercent', 95);
  });

  test('reads a file that is rewritten a thousand times only a few times, and ends with its last content', async () => {
    const reloads = async () => {
      const { body } = await request(`https://127.0.0.1:${port}/metrics`, { dispatcher });
      const values = [...(await body.text()).matchAll(/^kubelet_configuration_reloads_total\{.*\} (\d+)$/gm)];
      return values.reduce((sum, [, value]) => sum + Number(value), 0);
    };
    const before = await reloads();
    assert.ok(before > 0);
    for (let i = 1; i <= 1000; i += 1) writeFileSync(file, stringify({ ...original, nodeStatusMaxImages: i }));
    await untilField('nodeStatusMaxImages', 1000);
    const after = await reloads();
    assert.ok(after - before <= 10, `${after - before} reloads`);
  });
});

test('SIGHUP reloads the configuration: the verbosity of all threads changes', async (t) => {
  ensureBuilt();
  const prepared = await prepareKubelet(t);
  const running = new RunningKubelet(prepared.args);
  // Also a signal during the start does not end the kubelet.
  await waitUntil('it has started', () => running.stderr.includes('Priority of the main thread'), timeoutMs);
  running.kill('SIGHUP');
  await waitUntilHealthy(prepared);
  const unchanged = '"No field of the configuration that can change without a restart has changed"';
  await waitUntil('the signal is answered', () => running.stderr.includes(unchanged), timeoutMs);
  assert.doesNotMatch(running.stderr, / stats\] "Sampled the usage of pods"/);
  prepared.configure({ logging: { verbosity: 4 } });
  running.kill('SIGHUP');
  await waitUntil('debug lines of other threads appear', () => / stats\] "Sampled the usage of pods"/.test(running.stderr), timeoutMs);
  running.kill('SIGTERM');
  assert.equal((await running.ended).code, 0);
});

test('starts with a field of a newer version, with a warning; a configuration that it may not read any more is kept, with an error', async (t) => {
  ensureBuilt();
  const prepared = await prepareKubelet(t);
  const file = prepared.configFile;
  prepared.configure({ fieldOfANewerVersion: true });
  // Without these capabilities the permissions of files are those of root's own.
  const capabilities = ['--inh-caps=-dac_override,-dac_read_search', '--bounding-set=-dac_override,-dac_read_search'];
  const running = new RunningKubelet([...capabilities, kubeletPath, ...prepared.args], { command: 'setpriv' });
  await waitUntilHealthy(prepared);
  assert.match(running.stderr, /^W.*"Part of the configuration is ignored" .*line \d+: unknown field \\?"fieldOfANewerVersion/m);
  chmodSync(file, 0);
  running.kill('SIGHUP');
  const failed = /^E.*"Could not reload the configuration; the running one stays in force" .*EACCES: permission denied/m;
  await waitUntil('the reload fails', () => failed.test(running.stderr), timeoutMs);
  await waitUntilHealthy(prepared);
  chmodSync(file, 0o600);
  prepared.configure({ imageGCHighThresholdPercent: 91 });
  await waitUntil('the change is applied', () => running.stderr.includes('fields=["imageGCHighThresholdPercent"]'), timeoutMs);
  running.kill('SIGTERM');
  assert.equal((await running.ended).code, 0);
});
