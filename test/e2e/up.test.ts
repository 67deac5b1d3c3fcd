/** `npm run up` without a terminal size: plain lines on changes, none truncated. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { build, isBuilt } from '../../lab/kubelet/build.ts';
import { removeFolder } from '../../lab/host/remove-folder.ts';
import { stopDaemon } from '../../lab/host/daemon.ts';
import { kubeletEnvironment } from '../support/kubelet/kubelet-environment.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const project = join(import.meta.dirname, '../..');
const examples = readdirSync(join(project, 'examples')).map((file) => file.replace('.yaml', ''));
const up = `${process.execPath} ${join(project, 'scripts/up/up.ts')} --simulate`;

/** Runs the command until it has printed a long line, then ends it like Ctrl-C. It runs in its own network namespace, since its ports are fixed. */
async function outputOf(
  t: TestContext,
  commandLine: string,
  interrupt: (child: ChildProcessByStdio<Writable, Readable, null>) => void,
): Promise<string> {
  if (!isBuilt()) build();
  const folder = mkdtempSync(join(tmpdir(), 'up-'));
  const child = spawn('unshare', ['--net', 'sh', '-c', `ip link set lo up; exec ${commandLine}`], {
    env: kubeletEnvironment({ TMPDIR: folder }),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(async () => {
    const stateFolder = join(folder, `kubelet-up-${process.getuid?.()}`);
    await stopDaemon({ pidFile: join(stateFolder, 'kubelet.pid'), commandLineMark: stateFolder });
    await stopDaemon({ pidFile: join(stateFolder, 'runtime.pid'), commandLineMark: stateFolder });
    removeFolder(folder);
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (data: string) => (text += data));
  const ended = once(child, 'close');
  await waitUntil(
    () => `the longest line is shown; the output is ${text}`,
    () => /^crash-loop-.* back-off \d+s restarting failed container=crash pod=crash-loop-\S+_default\(\S+\)\r?$/m.test(text),
    60_000,
  );
  interrupt(child);
  await ended;
  return text.replaceAll('\r', '');
}

const cases: { name: string; commandLine: string; interrupt: Parameters<typeof outputOf>[2] }[] = [
  { name: 'into a pipe', commandLine: up, interrupt: (child) => child.kill('SIGINT') },
  {
    name: 'on a terminal of 0 by 0',
    commandLine: `script -qfc 'stty cols 0 rows 0; exec ${up}' /dev/null`,
    interrupt: ({ stdin }) => stdin.write('\u0003'),
  },
];
for (const { name, commandLine, interrupt } of cases) {
  test(`npm run up ${name} prints complete plain lines on changes only`, async (t) => {
    const text = await outputOf(t, commandLine, interrupt);
    assert.ok(!text.includes('\u001b') && !text.includes('…'), text);
    const tables = text.split('\n\n').filter((table) => table.includes('NAME '));
    const last = tables.at(-1) ?? '';
    for (const example of examples) assert.match(last, new RegExp(`^${example}-${hostname().toLowerCase()} `, 'm'));
    const withoutAges = tables.map((table) => table.replaceAll(/ +\d+[smh]\b/g, ''));
    assert.deepEqual(
      withoutAges.filter((table, i) => table === withoutAges[i - 1]),
      [],
    );
    assert.match(text, /stopping the kubelet; its pods keep running/);
  });
}
