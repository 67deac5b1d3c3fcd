/** The thread that reads the configuration for a reload, with files that make trouble. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ConfigLoader } from '../../../src/main/config-reload/index.ts';
import { systemClock } from '../../../src/shared/time/clock.ts';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

function aLoader(t: TestContext, values: Record<string, unknown> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'config-loader-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'kubelet.yaml');
  const loader = new ConfigLoader(
    { values: new Map(Object.entries({ config: file, ...values })), host: { cgroupVersion: 2 } },
    systemClock,
  );
  const write = (text: string) => writeFileSync(file, text);
  const errorOf = async () => {
    const reply = await loader.load();
    return 'error' in reply ? reply.error : 'no error';
  };
  return { folder, file, loader, write, errorOf };
}

test('the configuration has the values of the file, of drop-ins and of flags, as at the start', async (t) => {
  const { folder, loader, write } = aLoader(t, { 'kube-api-qps': 9 });
  write(`${header}maxPods: 7\nkubeAPIQPS: 8\nimageGCHighThresholdPercent: 90\n`);
  mkdirSync(join(folder, 'conf.d'));
  const reply = await loader.load();
  assert.ok('config' in reply);
  assert.deepEqual([reply.config.maxPods, reply.config.kubeAPIQPS, reply.config.imageGCHighThresholdPercent], [7, 9, 90]);
});

test('a configuration that breaks a rule, or is no YAML, is an error that names the problem', async (t) => {
  const { write, errorOf } = aLoader(t);
  write(`${header}imageGCHighThresholdPercent: 101\n`);
  assert.match(await errorOf(), /^failed to validate kubelet configuration, error: .*imageGCHighThresholdPercent/);
  write(`${header}maxPods: [`);
  assert.match(await errorOf(), /^failed to load kubelet config file, path: .*: line 3/);
  write('');
  assert.match(await errorOf(), /is empty/);
});

test('a file that is no file is an error, and the next load works', async (t) => {
  const { file, loader, write, errorOf } = aLoader(t);
  assert.match(await errorOf(), /ENOENT/);
  mkdirSync(file);
  assert.match(await errorOf(), /is not a regular file/);
  rmSync(file, { recursive: true });
  execFileSync('mkfifo', [file]);
  assert.match(await errorOf(), /is not a regular file/);
  rmSync(file);
  write(`${header}${'a'.repeat(2 * 1024 * 1024)}`);
  assert.match(await errorOf(), /is larger than 1048576 bytes/);
  write(`${header}x: ${'['.repeat(100_000)}`);
  assert.notEqual(await errorOf(), 'no error');
  write(header);
  assert.ok('config' in (await loader.load()));
});

test('two loads at a time are one too many', async (t) => {
  const { write, loader } = aLoader(t);
  write(header);
  const [first, second] = await Promise.all([loader.load(), loader.load()]);
  assert.ok('config' in first);
  assert.deepEqual(second, { error: 'an earlier attempt to read the configuration still waits for its files' });
});
