import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { readMachineInfo } from '../../../src/workers/stats/machine-info.ts';

const trees: string[] = [];
after(() => trees.forEach((tree) => rmSync(tree, { recursive: true })));

const bare = {
  'proc/cpuinfo': 'processor\t: 0\n\nprocessor\t: 1\n',
  'proc/meminfo': 'MemTotal:        1024 kB\nSwapTotal:       2 kB\n',
  'proc/sys/kernel/random/boot_id': 'boot-1\n',
  'proc/sys/kernel/osrelease': '6.18.0\n',
};
function machine(files: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), 'machine-'));
  trees.push(root);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return readMachineInfo({ root, rootDir: root });
}

test('machine info has processors, memory, huge pages and IDs', async () => {
  const { rootFsCapacityBytes, rootFsInodes, ...info } = await machine({
    ...bare,
    'sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages': '1\n',
    'sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '12\n',
    'etc/machine-id': 'machine-1\n',
    'sys/class/dmi/id/product_uuid': 'uuid-1\n',
    'etc/os-release': 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
  });
  assert.deepEqual(info, {
    numCores: 2,
    memoryBytes: 1024 * 1024,
    swapBytes: 2048,
    hugePages: [
      { pageSizeKiB: 2048, pages: 12 },
      { pageSizeKiB: 1048576, pages: 1 },
    ],
    machineID: 'machine-1',
    systemUUID: 'uuid-1',
    bootID: 'boot-1',
    kernelVersion: '6.18.0',
    osImage: 'Debian GNU/Linux 12 (bookworm)',
  });
  assert.ok(rootFsCapacityBytes > 0 && rootFsInodes >= 0);
});

test('the processors are those that are online, and those of cpuinfo without such a list', async () => {
  const online = { ...bare, 'proc/cpuinfo': 'processor 0: version = FF\n', 'sys/devices/system/cpu/online': '0-2,8\n' };
  assert.equal((await machine(online)).numCores, 4);
  assert.equal((await machine({ ...bare, 'sys/devices/system/cpu/online': 'x\n' })).numCores, 2);
});

test('the system UUID of a machine without DMI is that of the device tree, then the machine ID', async () => {
  assert.equal((await machine({ ...bare, 'proc/device-tree/vm,uuid': 'tree-1\0' })).systemUUID, 'tree-1');
  const named = await machine({ ...bare, 'etc/machine-id': '', 'var/lib/dbus/machine-id': 'dbus-1\n' });
  assert.deepEqual([named.machineID, named.systemUUID, named.osImage, named.hugePages], ['dbus-1', 'dbus-1', 'Unknown', []]);
});

test('without procfs the read rejects with the file’s name', async () => {
  await assert.rejects(machine({ 'proc/cpuinfo': '' }), /ENOENT.*proc\//);
});
