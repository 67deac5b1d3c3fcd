import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { LayersOfProcesses } from '../../../../../src/workers/stats/storage/layers-of-processes.ts';

const storage = '/var/lib/containers/storage/overlay';
const node = [
  '29 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
  `90 29 0:70 / ${storage}/l1/merged rw - overlay overlay rw,lowerdir=${storage}/l/A,upperdir=${storage}/l1/diff,workdir=${storage}/l1/work`,
  `91 29 0:71 / ${storage}/l2/merged rw - overlay overlay rw,lowerdir=${storage}/l/A,upperdir=${storage}/l2/diff,workdir=${storage}/l2/work`,
].join('\n');
const root = (device: string, fsType = 'overlay') => `200 100 ${device} / / rw - ${fsType} ${fsType} rw,upperdir=/of/the/container`;

function layersOf(processes: Record<string, string | undefined>) {
  const reads: number[] = [];
  const names = Object.keys(processes);
  const layers = new LayersOfProcesses({
    processOf: (id) => (names.includes(id) ? names.indexOf(id) + 1 : undefined),
    readMounts: (pid) => {
      reads.push(pid);
      return processes[names[pid - 1]!];
    },
  });
  return { layers, reads, find: () => Object.fromEntries(layers.find(['a', 'b', 'c'], node)) };
}

suite('the writable layers of processes', () => {
  test('are the node’s overlays with the device of the process’s root', () => {
    const { find, reads } = layersOf({ a: root('0:71'), b: root('0:9'), c: undefined });
    assert.deepEqual(find(), { a: `${storage}/l2/diff` });
    // What is known is not read again; a process that has ended is.
    assert.deepEqual([find(), reads], [{ a: `${storage}/l2/diff` }, [1, 2, 3, 3]]);
  });

  test('are found when the process enters its root later, and not looked for without end', () => {
    const processes: Record<string, string> = { a: root('8:1', 'ext4'), b: root('8:1', 'ext4') };
    const { find, reads } = layersOf(processes);
    find();
    processes['a'] = root('0:70');
    for (let count = 0; count < 5; count += 1) assert.deepEqual(find(), { a: `${storage}/l1/diff` });
    assert.deepEqual(reads, [1, 2, 1, 2, 2]);
  });

  test('are none of what a container mounts for itself', () => {
    const { find } = layersOf({ a: root('0:99'), b: root('8:1', 'ext4'), c: `201 100 0:70 / /data rw - overlay overlay rw,upperdir=/x` });
    assert.deepEqual(find(), {});
  });

  test('cost nothing without containers, or without overlays', () => {
    const { layers, reads } = layersOf({ a: root('0:70') });
    assert.deepEqual([layers.find([], node).size, layers.find(['a'], '29 1 8:1 / / rw - ext4 /dev/sda1 rw').size, reads], [0, 0, []]);
  });
});
