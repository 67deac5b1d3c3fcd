/** A kubelet process with the simulated runtime: log, lock file, folders, signals. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { openSync, statSync, closeSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { before, test } from 'node:test';
import { reservePort } from '../../../lab/host/reserve-ports.ts';
import { ensureBuilt, kubelet, RunningKubelet } from '../../support/kubelet/kubelet-command.ts';
import { fastTime, kubeletEnvironment } from '../../support/kubelet/kubelet-environment.ts';
import { prepareKubelet, waitUntilHealthy } from '../../support/kubelet/prepared-kubelet.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

before(ensureBuilt);

test('SIGTERM stops a running kubelet with exit code 0', async (t) => {
  const prepared = await prepareKubelet(t);
  const running = new RunningKubelet(prepared.args);
  await waitUntilHealthy(prepared);
  running.kill('SIGTERM');
  const { code, stderr } = await running.ended;
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ kubelet\] "Stopping" reason="SIGTERM"$/m);
});

test('a second signal ends a stopping kubelet at once with exit code 1', async (t) => {
  const prepared = await prepareKubelet(t, {}, { latency: { RunPodSandbox: { p50Ms: 60_000, p99Ms: 60_000 } } });
  writeFileSync(
    join(prepared.folder, 'manifests/web.yaml'),
    'kind: Pod\napiVersion: v1\nmetadata: {name: web}\nspec: {containers: [{name: app, image: web}]}\n',
  );
  const running = new RunningKubelet(prepared.args);
  // The pending call delays the stop by more than a second.
  await waitUntil('a sandbox is being made', async () => (await prepared.runtime.control.counters()).RunPodSandbox?.inFlight === 1, 20_000);
  running.kill('SIGTERM');
  await waitUntil('it stops', () => running.stderr.includes('"Stopping" reason="SIGTERM"'));
  running.kill('SIGINT');
  const { code, stderr } = await running.ended;
  assert.equal(code, 1, stderr);
  assert.match(stderr, /"Received a second signal: exiting at once" signal="SIGINT"/);
  assert.doesNotMatch(stderr, /"Stopped"/);
});

test('the health check of the relist passes while the runtime does not answer for minutes', async (t) => {
  const prepared = await prepareKubelet(t);
  // The threshold of three minutes takes nine seconds.
  const timeFactor = 20;
  const running = new RunningKubelet(prepared.args, { env: kubeletEnvironment(fastTime(timeFactor)) });
  await waitUntilHealthy(prepared);
  await prepared.runtime.control.fault({ call: 'ListPodSandbox', kind: 'hang' });
  const hangsSinceMs = Date.now();
  const check = async () => (await fetch(`http://127.0.0.1:${prepared.healthzPort}/healthz/thread-pleg`)).text();
  while ((Date.now() - hangsSinceMs) * timeFactor < 240_000) {
    // The time of heartbeats is shorter too: a busy host may miss it.
    assert.doesNotMatch(await check(), /last seen active/);
    await sleep(250);
  }
  await prepared.runtime.control.clearFaults();
  await waitUntil('the relist succeeds', async () => (await check()) === 'ok' && running.stderr.includes('"relist succeeds again"'));
});

test('SIGTERM stops a kubelet that waits for its runtime with exit code 0', async (t) => {
  const { folder, args } = await prepareKubelet(t, { containerRuntimeEndpoint: `unix://${join(tmpdir(), 'no-such-runtime.sock')}` });
  const running = new RunningKubelet(args);
  await waitUntil('it waits', () => running.stderr.includes('Container runtime sanity check failed'), 20_000);
  running.kill('SIGTERM');
  const { code, stderr } = await running.ended;
  assert.equal(code, 0, stderr);
  assert.ok(statSync(join(folder, 'root')).isDirectory());
});

test('SIGTERM stops a kubelet that waits for the list of its runtime’s pods with exit code 0', async (t) => {
  const prepared = await prepareKubelet(t);
  await prepared.runtime.control.fault({ call: 'ListPodSandbox', kind: 'hang' });
  const running = new RunningKubelet(prepared.args);
  await waitUntil('its sources have started', () => running.stderr.includes('Watching path'), 20_000);
  running.kill('SIGTERM');
  const { code, stderr } = await running.ended;
  assert.equal(code, 0, stderr);
});

/** A program with the kubelet's logger and fault handler that runs the code `fault`. */
function faultyProgram(fault: string): { readonly status: number | null; readonly stderr: string } {
  const module = (path: string) => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href);
  const script = `
    import { handleUncaughtFaults } from ${module('main/process/uncaught-faults.ts')};
    import { createLogger } from ${module('shared/log/create-logger.ts')};
    const policy = handleUncaughtFaults(createLogger({ format: 'text', verbosity: 0, vmodule: [] }, { component: 'kubelet' }));
    ${fault}
  `;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8', timeout: 20_000 });
  return { status, stderr };
}

test('an uncaught fault during the start is logged with its stack and ends the process with exit code 2', () => {
  const { status, stderr } = faultyProgram(`
    Promise.reject(new Error('an unexpected rejection'));
    setInterval(() => {}, 1000);
  `);
  assert.equal(status, 2, stderr);
  assert.match(stderr, /^F.*"Uncaught fault, exiting" err="an unexpected rejection" origin="unhandledRejection" stack=/m);
});

test('an uncaught fault does not end a running kubelet, and the log of a repeated fault is limited', () => {
  const { status, stderr } = faultyProgram(`
    policy.keepRunning();
    let left = 100;
    const timer = setInterval(() => {
      left -= 1;
      if (left === 0) { clearInterval(timer); process.exitCode = 7; }
      throw new Error('again');
    }, 0);
    Promise.reject(null);
    setImmediate(() => { throw Object.create(null); });
  `);
  assert.equal(status, 7, stderr);
  assert.match(stderr, /"Uncaught fault, going on" err="again" origin="uncaughtException" stack=/);
  assert.equal(stderr.match(/Uncaught fault, going on/g)?.length, 20);
});

test('the root directory may be relative and end with slashes, but must not be empty', async (t) => {
  const prepared = await prepareKubelet(t);
  const relativeRoot = relative(process.cwd(), join(prepared.folder, 'other'));
  const running = new RunningKubelet([...prepared.args, '--root-dir', `${relativeRoot}//`]);
  await waitUntilHealthy(prepared);
  assert.ok(statSync(join(prepared.folder, 'other/pods')).isDirectory());
  running.kill('SIGTERM');
  assert.equal((await running.ended).code, 0);
  const { code, stderr } = kubelet(...prepared.args, '--root-dir=');
  assert.equal(code, 1);
  assert.match(stderr, /"command failed" err="invalid root directory \\"\\""/);
});

test('a kubelet that reserves more than the machine has ends with the resource, both amounts and exit code 1', async (t) => {
  const { args } = await prepareKubelet(t, { kubeReserved: { memory: '1024Ti' }, evictionHard: { 'memory.available': '100Mi' } });
  const { code, stderr } = await new RunningKubelet(args).ended;
  assert.equal(code, 1, stderr);
  assert.match(
    stderr,
    /invalid Node Allocatable configuration. Resource \\"memory\\" has a reservation of 1073741924Mi but capacity of \d+Ki/,
  );
});

test('a kubelet whose reserved CPUs are not online ends with both lists', async (t) => {
  const { args } = await prepareKubelet(t, { reservedSystemCPUs: '0,60000' });
  const { code, stderr } = await new RunningKubelet(args).ended;
  assert.equal(code, 1, stderr);
  assert.match(stderr, /reservedCPUs: 0,60000 is not a subset of online CPUs: 0/);
});

test('a kubelet creates its folders with upstream’s permissions', async (t) => {
  const prepared = await prepareKubelet(t);
  const running = new RunningKubelet(prepared.args);
  await waitUntilHealthy(prepared);
  const modes = Object.fromEntries(
    ['root', 'root/pods', 'root/plugins', 'root/plugins_registry', 'root/pod-resources', 'root/checkpoints', 'logs/pods'].map((name) => [
      name,
      (statSync(join(prepared.folder, name)).mode & 0o777).toString(8),
    ]),
  );
  assert.deepEqual(modes, {
    root: '750',
    'root/pods': '750',
    'root/plugins': '750',
    'root/plugins_registry': '750',
    'root/pod-resources': '750',
    'root/checkpoints': '700',
    'logs/pods': '750',
  });
  running.kill('SIGINT');
  assert.equal((await running.ended).code, 0);
});

test('settings without effect are logged once, in one line', async (t) => {
  const prepared = await prepareKubelet(t, { volumePluginDir: '/opt/volumes', topologyManagerPolicy: 'best-effort' });
  const running = new RunningKubelet([...prepared.args, '--runtime-cgroups=/system']);
  await waitUntilHealthy(prepared);
  const lines = running.stderr.split('\n').filter((line) => line.includes('have no effect'));
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /^W.*settings=\["topologyManagerPolicy","volumePluginDir"\]$/);
});

test('every line of a JSON log is JSON', async (t) => {
  const prepared = await prepareKubelet(t, { logging: { format: 'json' } });
  const running = new RunningKubelet(prepared.args);
  await waitUntilHealthy(prepared);
  running.kill('SIGTERM');
  const { code, stderr } = await running.ended;
  assert.equal(code, 0, stderr);
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.ok(lines.length > 0);
  for (const line of lines) assert.deepEqual(Object.keys(line).slice(0, 3), ['ts', 'caller', 'msg']);
});

test('a second kubelet waits for the lock and runs when the first one has stopped', async (t) => {
  const prepared = await prepareKubelet(t);
  const args = [...prepared.args, '--lock-file', join(prepared.folder, 'lock')];
  const first = new RunningKubelet(args);
  await waitUntilHealthy(prepared);
  const second = new RunningKubelet(args);
  await waitUntil('the second waits', () => second.stderr.includes('Another process holds the lock'));
  first.kill('SIGTERM');
  assert.equal((await first.ended).code, 0);
  await waitUntilHealthy(prepared);
  second.kill('SIGTERM');
  assert.equal((await second.ended).code, 0);
});

test('SIGTERM stops a kubelet that waits for the lock', async (t) => {
  const prepared = await prepareKubelet(t);
  const args = [...prepared.args, '--lock-file', join(prepared.folder, 'lock')];
  const first = new RunningKubelet(args);
  await waitUntilHealthy(prepared);
  const second = new RunningKubelet(args);
  await waitUntil('the second waits', () => second.stderr.includes('Another process holds the lock'));
  second.kill('SIGTERM');
  assert.equal((await second.ended).code, 0);
  first.kill('SIGTERM');
  assert.equal((await first.ended).code, 0);
});

test('with --exit-on-lock-contention a kubelet stops when another process opens the lock file', async (t) => {
  const prepared = await prepareKubelet(t);
  const lock = join(prepared.folder, 'lock');
  const running = new RunningKubelet([...prepared.args, '--lock-file', lock, '--exit-on-lock-contention']);
  await waitUntilHealthy(prepared);
  closeSync(openSync(lock, 'r'));
  const { code, stderr } = await running.ended;
  assert.equal(code, 0, stderr);
  assert.match(stderr, /"Stopping" reason="another process opened the lock file"/);
});

test('a kubelet that cannot start logs the reason in one line without a stack and exits with 1', async (t) => {
  const { args, folder } = await prepareKubelet(t);
  writeFileSync(join(folder, 'file'), '');
  const { code, stderr } = kubelet(...args, '--root-dir', join(folder, 'file'));
  assert.equal(code, 1);
  const errors = stderr.split('\n').filter((line) => line.startsWith('E'));
  assert.equal(errors.length, 1, stderr);
  assert.match(errors[0] ?? '', /"command failed" err="error creating directory .*file/);
  assert.doesNotMatch(stderr, /^\s+at /m);
});

test('a root directory that cannot be created fails with the reason', async (t) => {
  const { args } = await prepareKubelet(t);
  const { code, stderr } = kubelet(...args, '--root-dir', '/proc/1/kubelet');
  assert.equal(code, 1);
  assert.match(stderr, /"command failed" err="error creating directory /);
});

test('--exit-on-lock-contention without a lock file fails', async (t) => {
  const { args } = await prepareKubelet(t);
  const { code, stderr } = kubelet(...args, '--exit-on-lock-contention');
  assert.equal(code, 1);
  assert.match(stderr, /cannot exit on lock file contention: no lock file specified/);
});

test('connections to the healthz port from one client port are counted individually', async (t) => {
  const readOnlyPort = await reservePort();
  const prepared = await prepareKubelet(t, { healthzBindAddress: '0.0.0.0', readOnlyPort });
  const running = new RunningKubelet(prepared.args);
  await waitUntilHealthy(prepared);
  const sockets: Socket[] = [];
  // More connections than the port's limit of 256, each to a separate address.
  for (let host = 0; host < 300; host += 1) {
    const localPort = sockets[0]?.localPort;
    const socket = connect({
      host: `127.1.${host >> 8}.${host & 255}`,
      port: prepared.healthzPort,
      localAddress: '127.0.0.1',
      ...(localPort !== undefined && { localPort }),
    });
    sockets.push(socket.on('error', () => {}).resume());
    await once(socket, 'connect');
  }
  await waitUntil('the port closes some of the connections', async () => {
    // Another thread opens the read-only port, possibly after the healthz port.
    const metrics = await fetch(`http://127.0.0.1:${readOnlyPort}/metrics`).then(
      (response) => response.text(),
      () => '',
    );
    return /^kubelet_server_connections_ended_total\{reason="evicted",server="healthz"\} [1-9]/m.test(metrics);
  });
  for (const socket of sockets) socket.destroy();
  // 0.0.0.0 means the addresses of both families, as in Go.
  for (const path of [`:${prepared.healthzPort}/healthz`, `:${readOnlyPort}/healthz`]) {
    assert.equal((await fetch(`http://[::1]${path}`)).status, 200);
  }
  running.kill('SIGTERM');
  assert.equal((await running.ended).code, 0);
});
