/** Plugins when the kubelet can start no process: without descriptors, and without process IDs in its cgroup. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';

const module = join(import.meta.dirname, '../../../src/shared/linux/run-plugin.ts');
const runOne = `await (await import(${JSON.stringify(module)})).runPlugin({ command: '/bin/true', args: [], env: {}, stdin: 'x' }, new AbortController().signal)`;

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

const print = `console.log(JSON.stringify(${runOne}));`;
const works = { result: 'exited', code: 0, stdout: '', stderr: '' };

test('a plugin that gets no descriptors fails, and runs when there are some again', async () => {
  const program = `
    const run = (await import(${JSON.stringify(module)})).runPlugin;
    const open = [];
    try { for (;;) open.push(openSync('/dev/null')); } catch {}
    ${print}
    open.forEach((fd) => closeSync(fd));
    ${print}`;
  assert.deepEqual(await run(program, 'ulimit -n 100'), [{ result: 'failed', message: 'spawn /bin/true EMFILE' }, works]);
});

test('a plugin that gets no process ID fails, and runs when there are some again', async () => {
  const cgroup = `/sys/fs/cgroup/pids/plugins-${process.pid}`;
  mkdirSync(cgroup);
  after(() => rmdirSync(cgroup));
  writeFileSync(join(cgroup, 'pids.max'), 'max');
  const program = `
    await (await import('node:fs/promises')).readFile('/proc/self/stat'); // starts the file threads
    writeFileSync('${cgroup}/pids.max', '1');
    ${print}
    writeFileSync('${cgroup}/pids.max', 'max');
    ${print}`;
  const results = await run(program, `echo $$ > ${cgroup}/cgroup.procs`);
  assert.deepEqual(results, [{ result: 'failed', message: 'spawn /bin/true EAGAIN' }, works]);
});
