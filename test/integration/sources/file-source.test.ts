/** The file source on a real folder: inotify, renames, links and invalid files. Manifests are decoded in the same thread. */
import { podSyncGatesWith } from '../../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { FileSource } from '../../../src/main/sources/file-source.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { systemClock } from '../../../src/shared/time/clock.ts';
import { decodeManifest } from '../../../src/workers/pod-sync/manifest/decode-manifest.ts';
import { aLogger } from '../../support/logger.ts';
import { aManifest } from '../../support/pods/manifests.ts';

/** Disables the periodic scan: changes are found by inotify. */
const neverMs = 3_600_000;
const timeoutMs = 10_000;

interface Options {
  /** The number of pool tasks that fail before the first success. */
  readonly poolFailures?: number;
  readonly path?: (folder: string) => string;
  readonly checkFrequencyMs?: number;
}

async function aFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kubelet-manifests-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function aSource(t: TestContext, folder: string, { path = (each) => each, checkFrequencyMs = neverMs, poolFailures = 0 }: Options = {}) {
  const { logger, lines } = aLogger();
  const recreated: string[] = [];
  const reports: (readonly Pod[])[] = [];
  const decoded: string[] = [];
  const events: string[] = [];
  let onReport = () => {};
  const source = FileSource.start({
    path: path(folder),
    nodeName: 'node-1',
    checkFrequencyMs,
    decode: async (task) => {
      decoded.push(task.origin.slice(folder.length + 1));
      if (decoded.length <= poolFailures) throw new Error('the thread ended');
      return decodeManifest(task, podSyncGatesWith());
    },
    onPods: (pods, again) => {
      reports.push(pods);
      recreated.push(...pods.filter(({ metadata }) => again.has(metadata.uid as PodUID)).map(({ metadata }) => metadata.name));
      onReport();
    },
    onEvent: ({ object, type, reason, message }) => events.push(`${type} ${reason} ${object.name}: ${message.replace(`${folder}/`, '')}`),
    clock: systemClock,
    logger,
  });
  t.after(() => source.close());
  const shown = () => (reports.at(-1) ?? []).map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image}`).sort();
  /** Waits until the reported pods are these. */
  const until = async (want: string[]) => {
    const matches = () => reports.length > 0 && JSON.stringify(shown()) === JSON.stringify(want);
    const signal = AbortSignal.timeout(timeoutMs);
    while (!matches() && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      onReport = resolve;
      signal.addEventListener('abort', () => resolve());
      await promise;
    }
    assert.deepEqual(shown(), want);
  };
  /** Waits until the errors are these; they change without a report. */
  const untilErrors = async (want: Record<string, RegExp>) => {
    const errors = () => Object.fromEntries(source.errors().map(({ origin, message }) => [origin.slice(folder.length + 1), message]));
    const matches = () =>
      Object.keys(errors()).sort().join() === Object.keys(want).sort().join() &&
      Object.entries(want).every(([name, message]) => message.test(errors()[name] ?? ''));
    const deadline = Date.now() + timeoutMs;
    while (!matches() && Date.now() < deadline) await systemClock.sleep(10);
    assert.ok(matches(), JSON.stringify(errors()));
  };
  return { source, until, untilErrors, decoded, reports, recreated, events, lines };
}

const manifest = (name: string, image = 'x') => JSON.stringify(aManifest({ metadata: { name }, container: { image } }));

test('pods are added and removed with their files, and only changed files are decoded', async (t) => {
  const folder = await aFolder(t);
  await writeFile(join(folder, 'a.yaml'), manifest('a'));
  const { until, decoded } = aSource(t, folder);
  await until(['a-node-1 x']);
  await writeFile(join(folder, 'b.json'), manifest('b'));
  await until(['a-node-1 x', 'b-node-1 x']);
  await rm(join(folder, 'a.yaml'));
  await until(['b-node-1 x']);
  assert.deepEqual(decoded, ['a.yaml', 'b.json']);
});

test('an atomic rename changes a pod, also with the same size and time', async (t) => {
  const folder = await aFolder(t);
  const file = join(folder, 'a.yaml');
  const time = new Date('2026-01-01T00:00:00Z');
  await writeFile(file, manifest('a', 'x'));
  await utimes(file, time, time);
  const { until } = aSource(t, folder);
  await until(['a-node-1 x']);
  await writeFile(join(folder, '.new'), manifest('a', 'y'));
  await utimes(join(folder, '.new'), time, time);
  await rename(join(folder, '.new'), file);
  await until(['a-node-1 y']);
});

test('a manifest that is removed and written again recreates its pod; one that is replaced does not', async (t) => {
  const folder = await aFolder(t);
  const [rewritten, moved, replaced, touched] = ['rewritten', 'moved', 'replaced', 'touched'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ];
  const { until, reports, recreated } = aSource(t, folder);
  for (const path of [rewritten, moved, replaced, touched]) writeFileSync(path, manifest(basename(path)));
  const all = ['moved-node-1 x', 'replaced-node-1 x', 'rewritten-node-1 x', 'touched-node-1 x'];
  await until(all);
  assert.deepEqual(recreated, []);
  const before = reports.length;
  // In one event-loop iteration: no scan runs in between.
  rmSync(rewritten);
  writeFileSync(rewritten, manifest('rewritten'));
  renameSync(moved, join(folder, '.moved'));
  renameSync(join(folder, '.moved'), moved);
  writeFileSync(join(folder, '.replaced'), manifest('replaced'));
  renameSync(join(folder, '.replaced'), replaced);
  writeFileSync(touched, manifest('touched'));
  while (reports.length === before) await systemClock.sleep(10);
  assert.deepEqual(new Set(recreated), new Set(['moved-node-1', 'rewritten-node-1']));
  // Nothing is recreated after the next report.
  writeFileSync(join(folder, 'last'), manifest('last'));
  await until(['last-node-1 x', ...all]);
  assert.deepEqual(recreated.length, 2);
});

test('a manifest that is removed and written again invalid keeps its pod, which is recreated once the manifest is valid', async (t) => {
  const folder = await aFolder(t);
  const file = join(folder, 'a.yaml');
  writeFileSync(file, manifest('a'));
  const { until, untilErrors, reports, recreated } = aSource(t, folder);
  await until(['a-node-1 x']);
  const before = reports.length;
  rmSync(file);
  writeFileSync(file, 'not a pod');
  await untilErrors({ 'a.yaml': /couldn't parse as pod/ });
  assert.deepEqual([reports.length, recreated], [before, []]);
  writeFileSync(file, manifest('a'));
  await untilErrors({});
  assert.deepEqual(recreated, ['a-node-1']);
});

test('links to files are manifests; hidden files and folders are not', async (t) => {
  const folder = await aFolder(t);
  const elsewhere = await aFolder(t);
  await writeFile(join(elsewhere, 'linked'), manifest('linked'));
  await writeFile(join(folder, '.hidden.yaml'), manifest('hidden'));
  await mkdir(join(folder, 'sub'));
  await writeFile(join(folder, 'sub', 'a.yaml'), manifest('sub'));
  await symlink(join(elsewhere, 'linked'), join(folder, 'link.yaml'));
  await symlink(join(elsewhere, 'nowhere'), join(folder, 'dangling.yaml'));
  const { until, untilErrors } = aSource(t, folder);
  await until(['linked-node-1 x']);
  await untilErrors({ sub: /is a folder/ });
});

test('files whose names have bytes that are no UTF-8 are manifests, and errors show the bytes', async (t) => {
  const folder = await aFolder(t);
  const file = (name: string) => Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')]);
  await writeFile(file('caf\u00e9.yaml'), manifest('coffee'));
  await writeFile(file('th\u00e9.yaml'), 'no pod');
  const { until, untilErrors } = aSource(t, folder);
  await until(['coffee-node-1 x']);
  await untilErrors({ 'th\\xe9.yaml': /couldn't parse as pod/ });
  await writeFile(file('caf\u00e9.yaml'), manifest('coffee', 'y'));
  await until(['coffee-node-1 y']);
  await rm(file('caf\u00e9.yaml'));
  await until([]);
});

test('invalid files are reported, and neither affect other files nor stop their last valid pods', async (t) => {
  const folder = await aFolder(t);
  await writeFile(join(folder, 'good.yaml'), manifest('good'));
  await writeFile(join(folder, 'turns-bad.yaml'), manifest('turns-bad'));
  await writeFile(join(folder, 'binary'), new Uint8Array([0, 255, 254, 1]));
  await writeFile(join(folder, 'large.yaml'), Buffer.alloc(50 * 1024 * 1024, 'a'));
  await writeFile(join(folder, 'cycle.yaml'), 'a: &a [*a]');
  await writeFile(join(folder, 'kind.yaml'), 'apiVersion: v1\nkind: Service\nmetadata: {name: x}\n');
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  const { until, untilErrors, events } = aSource(t, folder);
  await until(['good-node-1 x', 'turns-bad-node-1 x']);
  await writeFile(join(folder, 'turns-bad.yaml'), manifest('turns-bad', ''));
  const garbage = {
    binary: /not UTF-8/,
    'large.yaml': /too large for a manifest: 52428800 bytes/,
    'cycle.yaml': /contains itself/,
    'kind.yaml': /not a "Service"/,
    pipe: /neither a folder nor a regular file/,
  };
  await untilErrors({ ...garbage, 'turns-bad.yaml': /spec.containers\[0\].image: Required value/ });
  await until(['good-node-1 x', 'turns-bad-node-1 x']);
  const event = 'Warning FailedValidation turns-bad-node-1: Manifest turns-bad.yaml is not valid, the pod is kept as it was: ';
  assert.deepEqual(
    events.map((text) => text.slice(0, event.length)),
    [event],
  );
  await writeFile(join(folder, 'turns-bad.yaml'), manifest('turns-bad', 'y'));
  await until(['good-node-1 x', 'turns-bad-node-1 y']);
  await untilErrors(garbage);
});

test('a missing folder has no pods until it is created', async (t) => {
  const folder = await aFolder(t);
  const { until, untilErrors, lines } = aSource(t, folder, { path: (each) => join(each, 'later') });
  await until([]);
  await untilErrors({ later: /^path does not exist, ignoring$/ });
  assert.ok(lines.some(({ msg }) => msg === 'Unable to read config path'));
  await mkdir(join(folder, 'later'));
  await writeFile(join(folder, 'later', 'a.yaml'), manifest('a'));
  await until(['a-node-1 x']);
});

test('a replaced folder is watched again', async (t) => {
  const folder = await aFolder(t);
  const path = join(folder, 'manifests');
  await mkdir(path);
  await writeFile(join(path, 'a.yaml'), manifest('a'));
  const { until } = aSource(t, folder, { path: () => path, checkFrequencyMs: 200 });
  await until(['a-node-1 x']);
  await rename(path, join(folder, 'old'));
  await until([]);
  await mkdir(path);
  await writeFile(join(path, 'b.yaml'), manifest('b'));
  await until(['b-node-1 x']);
});

test('a single file is a source of one pod', async (t) => {
  const folder = await aFolder(t);
  const file = join(folder, 'pod.yaml');
  await writeFile(file, manifest('a'));
  const { until } = aSource(t, folder, { path: () => file });
  await until(['a-node-1 x']);
  await writeFile(join(folder, 'next'), manifest('a', 'y'));
  await rename(join(folder, 'next'), file);
  await until(['a-node-1 y']);
  await rm(file);
  await until([]);
});

test('a change without an inotify event is found by the periodic scan', async (t) => {
  const folder = await aFolder(t);
  const elsewhere = await aFolder(t);
  await writeFile(join(elsewhere, 'target'), manifest('a'));
  await symlink(join(elsewhere, 'target'), join(folder, 'link.yaml'));
  const { until } = aSource(t, folder, { checkFrequencyMs: 100 });
  await until(['a-node-1 x']);
  await writeFile(join(elsewhere, 'target'), manifest('a', 'y'));
  await until(['a-node-1 y']);
});

test('the first report waits until the pool decodes the manifests', async (t) => {
  const folder = await aFolder(t);
  await writeFile(join(folder, 'a.yaml'), manifest('a'));
  const { until, reports } = aSource(t, folder, { poolFailures: 2, checkFrequencyMs: 50 });
  await until(['a-node-1 x']);
  assert.equal(reports.length, 1);
});

test('hundreds of manifests at the start are one report', async (t) => {
  const folder = await aFolder(t);
  const names = Array.from({ length: 300 }, (_, index) => `pod-${String(index).padStart(3, '0')}`);
  for (const name of names) await writeFile(join(folder, `${name}.yaml`), manifest(name));
  const { until, reports } = aSource(t, folder);
  await until(names.map((name) => `${name}-node-1 x`));
  assert.equal(reports.length, 1);
});

test('the first of hundreds of new manifests are reported before the last one is read, in few reports', async (t) => {
  const folder = await aFolder(t);
  await writeFile(join(folder, 'a.yaml'), manifest('a'));
  const { until, reports, source } = aSource(t, folder);
  await until(['a-node-1 x']);
  const names = Array.from({ length: 200 }, (_, index) => `pod-${String(index).padStart(3, '0')}`);
  // Moved into the folder together, so that one scan finds all of them.
  const aside = await aFolder(t);
  for (const name of names) await writeFile(join(aside, `${name}.yaml`), manifest(name));
  await Promise.all(names.map((name) => rename(join(aside, `${name}.yaml`), join(folder, `${name}.yaml`))));
  source.rescan();
  await until(['a-node-1 x', ...names.map((name) => `${name}-node-1 x`)]);
  const sizes = reports.slice(1).map(({ length }) => length);
  assert.ok(sizes[0]! < 20, `the first report has ${sizes[0]} pods`);
  assert.ok(sizes.length < 30, `${sizes.length} reports`);
});
