/** Plugins and helpers when the kubelet can start no process: without descriptors, and without process IDs in its cgroup. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const project = join(import.meta.dirname, '../../..');
/** Each prints the result of one child process. */
const children = {
  plugin: `
    const { runPlugin } = await import('${project}/src/shared/linux/run-plugin.ts');
    const tryOnce = async () => (await runPlugin({ command: '/bin/true', args: [], env: {}, stdin: 'x' }, new AbortController().signal)).result;`,
  helper: `
    const { HelperClient } = await import('${project}/src/shared/helper-client/index.ts');
    const logger = { child: () => logger, debug: () => {}, warn: console.log, error: console.log };
    const helper = new HelperClient({ logger });
    const tryOnce = async () => {
      return helper.call('statfs', { path: '/' }).then(() => 'exited', (err) => (err.code ? 'failed' : String(err)));
    };`,
};

/** Runs a program in a process of its own, after a shell command. Returns what it prints: the results of plugins, and faults that nothing caught. */
async function run(program: string, before: string): Promise<unknown[]> {
  const catching = `process.on('uncaughtException', (err) => console.log(JSON.stringify({ uncaught: err.message })));`;
  const script = `import { openSync, closeSync, writeFileSync } from 'node:fs'; ${catching} ${program}`;
  const { stdout } = await promisify(execFile)(
    'sh',
    ['-c', `${before} && exec "$0" --input-type=module -e "$1"`, process.execPath, script],
    {
      timeout: 60_000,
    },
  );
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

for (const [child, setup] of Object.entries(children)) {
  test(`a ${child} that gets no descriptors fails, and runs when there are some again`, async () => {
    const program = `
      ${setup}
      const open = [];
      try { for (;;) open.push(openSync('/dev/null')); } catch {}
      console.log(JSON.stringify(await tryOnce()));
      open.forEach((fd) => closeSync(fd));
      console.log(JSON.stringify(await tryOnce()));
      process.exit();`;
    assert.deepEqual(await run(program, 'ulimit -n 100'), ['failed', 'exited']);
  });

  test(`a ${child} that gets no process ID fails, and runs when there are some again`, async () => {
    const cgroup = `/sys/fs/cgroup/pids/${child}-${process.pid}`;
    mkdirSync(cgroup);
    after(async () => {
      // A helper ends soon after its owner.
      await waitUntil('the cgroup is empty', () => Promise.resolve(readFileSync(`${cgroup}/cgroup.procs`, 'utf8') === ''), 10_000);
      rmdirSync(cgroup);
    });
    const program = `
      ${setup}
      await (await import('node:fs/promises')).readFile('/proc/self/stat'); // starts the file threads
      writeFileSync('${cgroup}/pids.max', '1');
      console.log(JSON.stringify(await tryOnce()));
      writeFileSync('${cgroup}/pids.max', 'max');
      console.log(JSON.stringify(await tryOnce()));
      process.exit();`;
    assert.deepEqual(await run(program, `echo $$ > ${cgroup}/cgroup.procs`), ['failed', 'exited']);
  });
}
