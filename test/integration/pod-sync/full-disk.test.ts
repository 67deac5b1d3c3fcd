/** What the kubelet writes on a full disk: the last good file stays, nothing is left behind, and the next write succeeds when there is space again. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { podUID } from '../../../src/shared/kubernetes/ids.ts';
import { etcHostsPath } from '../../../src/shared/kubernetes/paths.ts';
import { mount, unmount, UnmountFlag } from '../../../src/shared/linux/native.ts';
import { writeDurably } from '../../../src/shared/linux/write-durably.ts';
import { writeAtomically } from '../../../src/workers/pod-sync/pod/volumes/atomic-writer.ts';
import { writeHostsFile } from '../../../src/workers/pod-sync/pod/volumes/etc-hosts.ts';
import { aPod } from '../../support/pods/pods.ts';

interface SmallDisk {
  readonly folder: string;
  fill(): void;
  free(): void;
}

/** @param exhausted what `fill` uses up */
async function aSmallDisk(t: TestContext, exhausted: 'bytes' | 'inodes'): Promise<SmallDisk> {
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'));
  await mount('small', folder, 'tmpfs', 0, 'size=256k,nr_inodes=40');
  t.after(async () => {
    await unmount(folder, UnmountFlag.detach);
    rmdirSync(folder);
  });
  const filler = join(folder, 'filler');
  const fillInodes = () => {
    mkdirSync(filler);
    for (let count = 0; ; count += 1) writeFileSync(join(filler, String(count)), '');
  };
  const fillBytes = () => {
    mkdirSync(filler);
    writeFileSync(join(filler, 'file'), Buffer.alloc(1024 * 1024));
  };
  return {
    folder,
    fill: () => assert.throws(exhausted === 'bytes' ? fillBytes : fillInodes, { code: 'ENOSPC' }),
    free: () => rmSync(filler, { recursive: true }),
  };
}

const file = (content: string) => ({ content, mode: 0o644 });
const noPermissions = async () => {};

for (const exhausted of ['bytes', 'inodes'] as const) {
  test(`a checkpoint stays as it was while the disk has no free ${exhausted}`, async (t) => {
    const disk = await aSmallDisk(t, exhausted);
    const path = join(disk.folder, 'state');
    await writeDurably(path, `${path}.new`, 'old');
    disk.fill();
    await assert.rejects(writeDurably(path, `${path}.new`, 'new'), { code: 'ENOSPC' });
    assert.equal(readFileSync(path, 'utf8'), 'old');
    assert.deepEqual(readdirSync(disk.folder).toSorted(), ['filler', 'state']);
    disk.free();
    await writeDurably(path, `${path}.new`, 'new');
    assert.equal(readFileSync(path, 'utf8'), 'new');
  });

  test(`a volume of a config map stays as it was while the disk has no free ${exhausted}`, async (t) => {
    const disk = await aSmallDisk(t, exhausted);
    const volume = join(disk.folder, 'volume');
    mkdirSync(volume);
    await writeAtomically(volume, new Map([['key', file('old')]]), noPermissions);
    disk.fill();
    const names = readdirSync(volume);
    await assert.rejects(writeAtomically(volume, new Map([['key', file('new')]]), noPermissions), { code: 'ENOSPC' });
    assert.equal(readFileSync(join(volume, 'key'), 'utf8'), 'old');
    assert.deepEqual(readdirSync(volume), names);
    disk.free();
    await writeAtomically(volume, new Map([['key', file('new')]]), noPermissions);
    assert.equal(readFileSync(join(volume, 'key'), 'utf8'), 'new');
  });

  test(`the hosts file of a pod gets a new IP although the disk has no free ${exhausted}`, async (t) => {
    const disk = await aSmallDisk(t, exhausted);
    const pod = aPod({ metadata: { name: 'web' } });
    const path = etcHostsPath(disk.folder, podUID(pod));
    mkdirSync(dirname(path), { recursive: true });
    const write = (ips: string[]) => writeHostsFile(disk.folder, pod, ips, { hostname: 'web', domain: '' });
    await write(['10.0.0.1', 'fd00::1']);
    const { ino } = statSync(path);
    disk.fill();
    await write(['10.0.0.2']);
    assert.deepEqual(readFileSync(path, 'utf8').match(/^.*\tweb$/gm), ['10.0.0.2\tweb']);
    assert.equal(statSync(path).ino, ino);
  });
}

test('the hosts file of a pod is never empty, also when its new content has no room', async (t) => {
  const disk = await aSmallDisk(t, 'bytes');
  const pod = (count: number) =>
    aPod({
      metadata: { name: 'web' },
      spec: {
        containers: [{ name: 'app', image: 'x' }],
        hostAliases: Array.from({ length: count }, (_, index) => ({ ip: `10.1.0.${index}`, hostnames: ['a'.repeat(60)] })),
      },
    });
  const path = etcHostsPath(disk.folder, podUID(pod(0)));
  mkdirSync(dirname(path), { recursive: true });
  const write = (count: number) => writeHostsFile(disk.folder, pod(count), ['10.0.0.1'], { hostname: 'web', domain: '' });
  await write(1);
  disk.fill();
  await assert.rejects(write(100), { code: 'ENOSPC' });
  assert.match(readFileSync(path, 'utf8'), /^10\.0\.0\.1\tweb$/m);
  disk.free();
  await write(100);
  assert.match(readFileSync(path, 'utf8'), /^10\.1\.0\.99\ta+$/m);
});
