import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { ContainerStatus, type DeepPartial } from '../../../src/shared/cri/generated/cri-v1.ts';
import { readLogTail, tailOfLog } from '../../../src/workers/pleg/runtime-status/log-tail.ts';
import {
  readTerminationMessage,
  terminationMessageSource,
  type TerminationMessageSource,
} from '../../../src/workers/pleg/runtime-status/termination-message.ts';
import { table } from '../../support/table.ts';

const mounts = [
  { containerPath: '/data', hostPath: '/srv' },
  { containerPath: '/twice', hostPath: '/volume' },
  { containerPath: '/twice', hostPath: '/kubelet/message-twice' },
  { containerPath: '/dev/termination-log', hostPath: '/kubelet/message' },
];

suite('the source of a termination message', () => {
  const annotations = (policy: string, path = '/dev/termination-log') => ({
    'io.kubernetes.container.terminationMessagePath': path,
    'io.kubernetes.container.terminationMessagePolicy': policy,
  });
  const ended = { state: 2 as const, exitCode: 1, mounts, logPath: '/logs/0.log' };
  const cases: { name: string; given: DeepPartial<ContainerStatus>; want: { file?: string; log?: string } }[] = [
    { name: 'nothing for a running container', given: { ...ended, state: 1, annotations: annotations('File') }, want: {} },
    {
      name: 'the file that is mounted at the path',
      given: { ...ended, annotations: annotations('File') },
      want: { file: '/kubelet/message' },
    },
    { name: 'nothing without a mount at the path', given: { ...ended, annotations: annotations('File', '/else') }, want: {} },
    { name: 'nothing without a path', given: { ...ended, annotations: annotations('File', '') }, want: {} },
    {
      name: 'also the log, with fallback after a failure',
      given: { ...ended, annotations: annotations('FallbackToLogsOnError') },
      want: { file: '/kubelet/message', log: '/logs/0.log' },
    },
    {
      name: 'not the log after a success',
      given: { ...ended, exitCode: 0, annotations: annotations('FallbackToLogsOnError') },
      want: { file: '/kubelet/message' },
    },
    {
      name: 'not the log of a container that failed to start',
      given: { ...ended, reason: 'ContainerCannotRun', annotations: annotations('FallbackToLogsOnError', '') },
      want: {},
    },
    {
      name: 'the kubelet’s file when a volume is mounted at the same path',
      given: { ...ended, annotations: annotations('File', '/twice') },
      want: { file: '/kubelet/message-twice' },
    },
    {
      name: 'the file also for a relative path or a path with dots',
      given: { ...ended, annotations: annotations('File', 'dev/./termination-log') },
      want: { file: '/kubelet/message' },
    },
  ];
  table('the source of an exited container’s message is', (row) => {
    for (const { name, given, want } of cases) {
      row(name, () => assert.deepEqual(terminationMessageSource(ContainerStatus.fromPartial(given as object)), want));
    }
  });
});

suite('reading a termination message', () => {
  let folder = '';
  const at = (name: string) => join(folder, name);
  const write = (name: string, content: string) => {
    writeFileSync(at(name), content);
    return at(name);
  };
  before(() => (folder = mkdtempSync(join(tmpdir(), 'termination-message-'))));
  after(() => rmSync(folder, { recursive: true }));
  const read = (source: TerminationMessageSource) => readTerminationMessage(source, { rootDir: at('root'), podLogsDir: folder });
  const log = () => write('log', '2026-01-01T00:00:00.1Z stderr F last words\n');

  test('the message is the file’s content', async () => {
    assert.equal(await read({ file: write('message', 'disk full\n'), log: log() }), 'disk full\n');
  });
  test('the message of a long file is its last 4096 bytes', async () => {
    const message = await read({ file: write('long', `${'x'.repeat(5000)}end`) });
    assert.deepEqual([message.length, message.endsWith('xend')], [4096, true]);
  });
  test('the message is the log’s tail when the file is empty or absent', async () => {
    assert.equal(await read({ file: write('empty', ''), log: log() }), 'last words\n');
    assert.equal(await read({ file: at('absent'), log: log() }), 'last words\n');
  });
  test('the message is empty without file and log', async () => {
    assert.equal(await read({ file: at('absent') }), '');
    assert.equal(await read({}), '');
  });
  test('a symlink, pipe, device or directory is rejected without hanging', async () => {
    symlinkSync('/etc/passwd', at('link'));
    execFileSync('mkfifo', [at('pipe')]);
    assert.match(await read({ file: at('link'), log: log() }), /^Error on reading termination log .*link: it is reached by a symlink/);
    assert.match(await read({ file: at('pipe') }), /not a regular file/);
    assert.match(await read({ file: '/dev/zero' }), /not a regular file/);
    assert.match(await read({ file: folder }), /Error on reading termination log/);
  });
  test('a symlink in the path is rejected, except those of the root directory', async () => {
    mkdirSync(at('real/pods/uid'), { recursive: true });
    write('real/pods/uid/message', 'own words');
    symlinkSync(at('real'), at('root'));
    assert.equal(await read({ file: at('root/pods/uid/message') }), 'own words');
    assert.equal(await read({ file: at('real/pods/uid/message') }), 'own words');
    // A volume directory that its writer replaced by a symlink to a directory of the host.
    mkdirSync(at('host'));
    write('host/message', 'secret');
    for (const folder of [at('real/pods/uid/volume'), at('hostPath')]) symlinkSync(at('host'), folder);
    for (const file of [at('root/pods/uid/volume/message'), at('hostPath/message')]) {
      assert.match(await read({ file }), /^Error on reading termination log .*message: it is reached by a symlink$/);
    }
    assert.equal(await read({ file: at('host/message') }), 'secret');
  });
  test('a symlink to a log outside of the log directory is rejected, one inside is read', async () => {
    mkdirSync(at('logs/app'), { recursive: true });
    const podLogsDir = at('logs');
    const outside = write('outside.log', '2026-01-01T00:00:00Z stdout F root:x:0:0\n');
    write('logs/app/0.log', '2026-01-01T00:00:00Z stdout F last words\n');
    symlinkSync(outside, at('logs/app/1.log'));
    symlinkSync(folder, at('logs/away'));
    symlinkSync(at('logs'), at('linked-logs'));
    const readLog = (log: string, podLogs = podLogsDir) => readTerminationMessage({ log }, { rootDir: at('root'), podLogsDir: podLogs });
    assert.equal(await readLog(at('logs/app/0.log')), 'last words\n');
    assert.equal(await readLog(at('linked-logs/app/0.log'), at('linked-logs')), 'last words\n');
    for (const log of [at('logs/app/1.log'), at('logs/away/outside.log'), outside]) {
      assert.match(await readLog(log), /^Error on reading termination message from logs: it lies outside of .*\/logs$/);
    }
    execFileSync('mkfifo', [at('logs/app/pipe')]);
    assert.match(await readLog(at('logs/app/pipe')), /not a regular file/);
  });
  test('a malformed or missing log is reported in the message', async () => {
    assert.match(
      await read({ log: write('binary', '\u0000\u0001\u0002') }),
      /^Error on reading termination message from logs: unsupported/,
    );
    assert.match(await read({ log: at('absent') }), /from logs: ENOENT/);
  });

  test('a large log is read from its end', async () => {
    const line = (n: number) => `2026-01-01T00:00:00.000000001Z stdout F line ${n}\n`;
    const path = write('large', Array.from({ length: 4000 }, (_, n) => line(n)).join(''));
    const tail = await readLogTail(path, folder, { maxLines: 3, maxBytes: 2048 });
    assert.equal(tail, 'line 3997\nline 3998\nline 3999\n');
    const long = write('long-lines', `${line(1)}2026-01-01T00:00:00Z stdout F ${'y'.repeat(100_000)}\n${line(2)}`);
    assert.equal(await readLogTail(long, folder, { maxLines: 2, maxBytes: 12 }), 'yyyy\nline 2\n');
  });
});

suite('the tail of a log', () => {
  const stdout = (text: string, tag = 'F') => `2026-01-01T00:00:00.5+01:00 stdout ${tag} ${text}\n`;
  const cases: { name: string; log: string; maxLines?: number; maxBytes?: number; want: string }[] = [
    { name: 'is empty for an empty log', log: '', want: '' },
    { name: 'has both streams in order', log: `${stdout('a')}2026-01-01T00:00:00Z stderr F b\n`, want: 'a\nb\n' },
    { name: 'joins the parts of a line that the runtime split', log: stdout('a', 'P') + stdout('b', 'P:x') + stdout('c'), want: 'abc\n' },
    { name: 'has the last lines only', log: stdout('a') + stdout('b') + stdout('c'), maxLines: 2, want: 'b\nc\n' },
    { name: 'has the last bytes only', log: stdout('abc') + stdout('def'), maxBytes: 6, want: 'c\ndef\n' },
    { name: 'includes an unterminated line when there are few others', log: stdout('a') + stdout('b').slice(0, -1), want: 'a\nb' },
    { name: 'excludes an unterminated line after enough others', log: stdout('a') + stdout('b').slice(0, -1), maxLines: 1, want: 'a\n' },
    { name: 'skips a malformed line', log: `${stdout('a')}garbage\n${stdout('b')}`, want: 'a\nb\n' },
    { name: 'keeps an empty line', log: stdout('') + stdout('b'), want: '\nb\n' },
  ];
  table('the tail of a log', (row) => {
    for (const { name, log, maxLines = 80, maxBytes = 2048, want } of cases) {
      row(name, () => assert.equal(tailOfLog(Buffer.from(log), { maxLines, maxBytes }).text, want));
    }
  });
});
