import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  openUserNamespaces,
  type UserNamespaceManager,
  type UserNamespacesOptions,
} from '../../../src/main/allocation/user-namespaces/index.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { aLogger } from '../../support/logger.ts';

const unit = 65536;
const uid = (name: string) => name as PodUID;

function aNode(t: TestContext) {
  const rootDir = mkdtempSync(join(tmpdir(), 'userns-'));
  t.after(() => rmSync(rootDir, { recursive: true }));
  const { logger, lines } = aLogger();
  const open = (options: Partial<UserNamespacesOptions> = {}): Promise<UserNamespaceManager> =>
    openUserNamespaces({
      rootDir,
      idsPerPod: null,
      maxPods: 3,
      // The host's own users do not matter here.
      passwdFile: join(rootDir, 'passwd'),
      runtimeHandlers: () => [{ name: '', recursiveReadOnlyMounts: false, userNamespaces: true }],
      random: () => 0,
      logger,
      ...options,
    });
  const fileOf = (name: string) => join(rootDir, 'pods', name, 'userns');
  const writeFile = (name: string, content: string) => {
    mkdirSync(dirname(fileOf(name)), { recursive: true });
    writeFileSync(fileOf(name), content);
  };
  /** Assigns IDs to the user kubelet. */
  const withSubIDs = (line: string, groups = line): Partial<UserNamespacesOptions> => {
    writeFileSync(join(rootDir, 'passwd'), 'root:x:0:0::/:\nkubelet:x:998:998::/:\n');
    return { getsubids: async (...args) => (args.includes('-g') ? groups : line) };
  };
  return { rootDir, open, fileOf, writeFile, withSubIDs, lines };
}
const mappingsOf = (hostId: number, length = unit) => {
  const mappings = [{ hostId, containerId: 0, length }];
  return JSON.stringify({ uidMappings: mappings, gidMappings: mappings });
};
const rangeAt = (units: number, length = unit) => ({ hostID: units * unit, length });

test('a pod keeps its IDs across restarts, in a file of upstream’s format; a second pod has others', async (t) => {
  const { open, fileOf } = aNode(t);
  const first = await open();
  assert.deepEqual(await first.getOrCreate(uid('a'), ''), rangeAt(1));
  assert.deepEqual(await first.getOrCreate(uid('b'), ''), rangeAt(2));
  assert.deepEqual(await first.getOrCreate(uid('a'), ''), rangeAt(1));
  assert.equal(readFileSync(fileOf('a'), 'utf8'), mappingsOf(unit));
  assert.equal(statSync(fileOf('a')).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(dirname(fileOf('a'))), ['userns']);
  const second = await open();
  assert.deepEqual(await second.getOrCreate(uid('c'), ''), rangeAt(3));
  assert.deepEqual(await second.getOrCreate(uid('b'), ''), rangeAt(2));
});

test('IDs are given again only after their file is gone', async (t) => {
  const { open, fileOf, withSubIDs } = aNode(t);
  const manager = await open(withSubIDs(`0: kubelet ${unit} ${3 * unit}`));
  for (const name of ['a', 'b', 'c']) await manager.getOrCreate(uid(name), '');
  const problem = 'create user namespace: could not find an empty slot to allocate a user namespace';
  assert.deepEqual(await manager.getOrCreate(uid('d'), ''), { problem });
  assert.ok(!existsSync(fileOf('d')));
  const releasing = manager.release(uid('b'));
  assert.deepEqual(await manager.getOrCreate(uid('d'), ''), { problem });
  await releasing;
  assert.ok(!existsSync(fileOf('b')));
  assert.deepEqual(await manager.getOrCreate(uid('d'), ''), rangeAt(2));
});

test('a pod that returns while its IDs are freed gets IDs with a file', async (t) => {
  const { open, fileOf } = aNode(t);
  const manager = await open();
  await manager.getOrCreate(uid('a'), '');
  const [, again] = await Promise.all([manager.release(uid('a')), manager.getOrCreate(uid('a'), '')]);
  assert.deepEqual(again, rangeAt(1));
  assert.equal(readFileSync(fileOf('a'), 'utf8'), mappingsOf(unit));
});

test('the IDs of pods that nothing knows are freed', async (t) => {
  const { open, fileOf, writeFile } = aNode(t);
  writeFile('orphan', mappingsOf(unit));
  writeFile('broken', 'x');
  writeFile('running', mappingsOf(2 * unit));
  const manager = await open();
  manager.releaseOrphans((one) => one === 'running');
  await manager.close();
  assert.deepEqual([existsSync(fileOf('orphan')), existsSync(fileOf('broken')), existsSync(fileOf('running'))], [false, false, true]);
  assert.deepEqual(await manager.getOrCreate(uid('a'), ''), rangeAt(1));
});

test('an unusable file fails its own pod with an error that names it, until it is repaired or removed', async (t) => {
  const { open, fileOf, writeFile, lines } = aNode(t);
  const files = {
    'a-valid': mappingsOf(2 * unit),
    'not-json': '{',
    overlapping: mappingsOf(2 * unit),
    'wrong-length': mappingsOf(4 * unit, 2 * unit),
    huge: mappingsOf(unit, 2 ** 32 - 1),
    zero: mappingsOf(0),
    large: ' '.repeat(5000),
  };
  for (const [name, content] of Object.entries(files)) writeFile(name, content);
  mkdirSync(fileOf('a-folder'), { recursive: true });
  mkdirSync(dirname(fileOf('a-fifo')), { recursive: true });
  execFileSync('mkfifo', [fileOf('a-fifo')]);
  const manager = await open();
  assert.deepEqual(await manager.getOrCreate(uid('a-valid'), ''), rangeAt(2));
  const problems: readonly [name: string, want: RegExp][] = [
    ['not-json', /invalid user namespace mappings file: /],
    ['overlapping', /range picked for pod "overlapping" already taken$/],
    ['wrong-length', /wrong user namespace length 131072$/],
    ['huge', /wrong user namespace length 4294967295$/],
    ['zero', /id 0 is out of range$/],
    ['large', /is larger than 4096 bytes$/],
    ['a-folder', /is not a regular file|EISDIR/],
    ['a-fifo', /is not a regular file$/],
  ];
  assert.equal(lines.filter(({ msg }) => msg === 'Could not use the IDs of a pod’s user namespace').length, problems.length);
  for (const [name, want] of problems) {
    const choice = await manager.getOrCreate(uid(name), '');
    assert.ok('problem' in choice && choice.problem.startsWith(`user namespace: ${fileOf(name)}: `), JSON.stringify(choice));
    assert.match(choice.problem, want);
  }
  // Units 4 and 5 belong to the processes of the pod with another length.
  const given = await Promise.all(['x', 'y', 'z'].map((name) => manager.getOrCreate(uid(name), '')));
  assert.deepEqual(given, [rangeAt(1), rangeAt(3), rangeAt(6)]);

  writeFile('overlapping', mappingsOf(9 * unit));
  assert.deepEqual(await manager.getOrCreate(uid('overlapping'), ''), rangeAt(9));
  rmSync(fileOf('not-json'));
  assert.deepEqual(await manager.getOrCreate(uid('not-json'), ''), rangeAt(7));
  await manager.release(uid('wrong-length'));
  assert.deepEqual(await manager.getOrCreate(uid('next'), ''), rangeAt(4));
});

test('the IDs of a running sandbox replace a lost, unusable or different file', async (t) => {
  const { open, fileOf, writeFile, lines } = aNode(t);
  writeFile('broken', '{');
  writeFile('different', mappingsOf(5 * unit));
  writeFile('longer', mappingsOf(8 * unit, 2 * unit));
  const manager = await open();
  const running = { lost: rangeAt(3), broken: rangeAt(4), different: rangeAt(6), longer: rangeAt(8, 2 * unit) };
  for (const [name, ids] of Object.entries(running)) {
    for (let i = 0; i < 2; i += 1) assert.deepEqual(await manager.getOrCreate(uid(name), '', ids), ids);
    assert.equal(readFileSync(fileOf(name), 'utf8'), mappingsOf(ids.hostID, ids.length));
    // The sandbox ended.
    assert.deepEqual(await manager.getOrCreate(uid(name), ''), ids);
  }
  assert.equal(lines.filter(({ msg }) => msg === 'Took the IDs of a pod’s user namespace from its sandbox').length, 4);
  const taken = await manager.getOrCreate(uid('second'), '', rangeAt(9));
  assert.deepEqual(taken, { problem: `another pod has some of the IDs of its sandbox: 65536 from ${9 * unit} on` });
  const given = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => manager.getOrCreate(uid(name), '')));
  assert.deepEqual(
    given,
    [1, 2, 5, 7, 10].map((at) => rangeAt(at)),
  );
});

test('IDs whose file cannot be written or removed stay with their pod until it can', async (t) => {
  const { open, fileOf, lines } = aNode(t);
  const manager = await open();
  mkdirSync(join(fileOf('a'), 'in-the-way'), { recursive: true });
  assert.match(JSON.stringify(await manager.getOrCreate(uid('a'), '', rangeAt(3))), /EISDIR|ENOTEMPTY|EEXIST/);
  for (let i = 0; i < 3; i += 1) await manager.release(uid('a'));
  assert.equal(lines.filter(({ msg, level }) => msg.startsWith('Could not free') && level >= 40).length, 0);
  rmSync(fileOf('a'), { recursive: true });
  assert.deepEqual(await manager.getOrCreate(uid('a'), '', rangeAt(3)), rangeAt(3));
  assert.equal(readFileSync(fileOf('a'), 'utf8'), mappingsOf(3 * unit));

  rmSync(fileOf('a'));
  mkdirSync(join(fileOf('a'), 'in-the-way'), { recursive: true });
  for (let i = 0; i < 3; i += 1) await manager.release(uid('a'));
  assert.equal(lines.filter(({ msg, level }) => msg.startsWith('Could not free') && level >= 40).length, 1);
  const given = await Promise.all(['b', 'c', 'd'].map((name) => manager.getOrCreate(uid(name), '')));
  assert.deepEqual(
    given,
    [1, 2, 4].map((at) => rangeAt(at)),
  );
  rmSync(fileOf('a'), { recursive: true });
  manager.releaseOrphans((one) => one !== 'a');
  await manager.close();
  assert.deepEqual(await manager.getOrCreate(uid('e'), ''), rangeAt(3));
  assert.deepEqual(await (await open()).getOrCreate(uid('f'), ''), rangeAt(5));
});

test('a range whose file cannot be written is not used, and is free again', async (t) => {
  const { rootDir, open } = aNode(t);
  writeFileSync(join(rootDir, 'pods'), 'no folder');
  const manager = await open().catch((err: unknown) => err);
  assert.match(String((manager as Error).cause), /ENOTDIR/);
  rmSync(join(rootDir, 'pods'));
  const good = await open();
  writeFileSync(join(rootDir, 'pods'), 'no folder');
  const choice = await good.getOrCreate(uid('a'), '');
  assert.match(JSON.stringify(choice), /create user namespace: (EEXIST|ENOTDIR)/);
  rmSync(join(rootDir, 'pods'));
  assert.deepEqual(await good.getOrCreate(uid('a'), ''), rangeAt(1));
});

test('a UID that cannot be the name of a folder gets no IDs', async (t) => {
  const { rootDir, open } = aNode(t);
  const manager = await open();
  for (const name of ['..', 'a/../../b', '', 'a\0b']) {
    assert.match(JSON.stringify(await manager.getOrCreate(uid(name), '')), /cannot be the name of a folder/);
    await manager.release(uid(name));
  }
  assert.deepEqual(readdirSync(rootDir), []);
  assert.deepEqual(await manager.getOrCreate(uid('$(id) ünï-\u{1F600}\n'), ''), rangeAt(1));
  assert.deepEqual(await (await open()).getOrCreate(uid('$(id) ünï-\u{1F600}\n'), ''), rangeAt(1));
});

test('the IDs of the user kubelet are used, and must be valid', async (t) => {
  const { open, withSubIDs } = aNode(t);
  const subIDs = `0: kubelet ${10 * unit} ${5 * unit}\n`;
  assert.deepEqual(await (await open(withSubIDs(subIDs))).getOrCreate(uid('a'), ''), rangeAt(10));
  const fails = async (options: Partial<UserNamespacesOptions>, want: RegExp) => {
    const err = await open(options).then(
      () => assert.fail('it opened'),
      (reason: Error) => reason,
    );
    assert.match(`${err.message}: ${(err.cause as Error).message}: ${String((err.cause as Error).cause)}`, want);
  };
  await fails(
    withSubIDs(subIDs, `0: kubelet ${unit} ${5 * unit}\n`),
    /create user namespace manager: kubelet mappings: .*mismatched subuids and subgids for user "kubelet"/,
  );
  await fails(withSubIDs(`0: kubelet 0 ${5 * unit}\n`), /kubelet user assigned ID 0 must be greater or equal to 65536/);
  await fails(withSubIDs(`0: kubelet ${unit} ${2 * unit}\n`), /kubelet user assigned IDs are not enough to support 3 pods/);
  await fails(withSubIDs(''), /invalid line ""/);
  await fails({ getsubids: () => Promise.reject(new Error('no answer')) }, /error retrieving additional uids for user "kubelet"/);
  const absent = { getsubids: () => Promise.reject(Object.assign(new Error('spawn'), { code: 'ENOENT' })) };
  assert.deepEqual(await (await open(absent)).getOrCreate(uid('b'), ''), rangeAt(1));
});

test('getsubids is found in PATH', async (t) => {
  const { rootDir, open, withSubIDs } = aNode(t);
  withSubIDs('');
  const bin = join(rootDir, 'bin');
  mkdirSync(bin);
  const { PATH } = process.env;
  t.after(() => void (process.env['PATH'] = PATH));
  process.env['PATH'] = bin;
  assert.deepEqual(await (await open()).getOrCreate(uid('a'), ''), rangeAt(1));
  const install = (script: string) => writeFileSync(join(bin, 'getsubids'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  install(`[ "$*" = kubelet ] || [ "$*" = "-g kubelet" ] || exit 2\necho "0: kubelet ${20 * unit} ${3 * unit}"`);
  assert.deepEqual(await (await open()).getOrCreate(uid('b'), ''), rangeAt(20));
  install('echo "no answer" >&2; exit 1');
  await assert.rejects(open(), { message: 'create user namespace manager' });
});

test('a runtime without user namespaces gets no mappings', async (t) => {
  const { open, fileOf } = aNode(t);
  const manager = await open({ runtimeHandlers: () => [] });
  const problem = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";
  assert.deepEqual(await manager.getOrCreate(uid('a'), ''), { problem });
  assert.ok(!existsSync(fileOf('a')));
});
