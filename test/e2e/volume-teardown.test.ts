/** Teardown of volumes that containers or the host have filled in unusual ways. */
import assert from 'node:assert/strict';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { mount, MountFlag } from '../../src/shared/linux/native.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

let node: TestNode;
before(async () => {
  node = await TestNode.start(null);
  await node.startKubelet();
});
after(() => node.destroy());

const folderOf = ({ metadata }: Pod) => join(node.rootDir, 'pods', metadata.uid);
const dataOf = (pod: Pod) => join(folderOf(pod), 'volumes/kubernetes.io~empty-dir/data');
const withData = (name: string, sh?: string) =>
  aManifest(name, {
    containers: [aBusybox({ ...(sh !== undefined && { sh }), volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
    volumes: [{ name: 'data', emptyDir: {} }],
  });

/** A host folder next to the root directory, with a file in it. */
function aHostFolder(name: string): string {
  const folder = join(node.folder, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'file'), 'data');
  return folder;
}

test('a volume with a tree deeper than PATH_MAX is removed with its pod', async () => {
  // `cd -P` descends folder by folder; 100 names of 200 characters make 20,000.
  const name = 'd'.repeat(200);
  const sh = `cd /data; i=0; while [ $i -lt 100 ]; do mkdir ${name} && cd -P ${name}; i=$((i+1)); done 2>/dev/null; : > /data/complete; sleep 1000`;
  node.apply(withData('deep', sh));
  const pod = await node.untilRunning('deep');
  await waitUntil('the tree is complete', () => existsSync(join(dataOf(pod), 'complete')), 30_000);
  node.delete('deep');
  await node.untilGone('deep');
  await waitUntil('the pod’s folder is gone', () => !existsSync(folderOf(pod)), 60_000);
});

test('a hidden mount of a host folder is unmounted, and the folder keeps its files', async () => {
  const host = aHostFolder('hidden');
  node.apply(withData('hidden'));
  const pod = await node.untilRunning('hidden');
  mkdirSync(join(dataOf(pod), 'b'));
  await mount(host, join(dataOf(pod), 'b'), '', MountFlag.bind, '');
  await mount('tmpfs', dataOf(pod), 'tmpfs', 0, '');
  node.delete('hidden');
  await node.untilGone('hidden');
  await waitUntil('the pod’s folder is gone', () => !existsSync(folderOf(pod)), 60_000);
  assert.equal(readFileSync(join(host, 'file'), 'utf8'), 'data');
});

test('a busy mount delays removal with an event, and the pod terminates when it is free', async () => {
  const host = aHostFolder('busy');
  node.apply(withData('busy'));
  const pod = await node.untilRunning('busy');
  const data = dataOf(pod);
  mkdirSync(join(data, 'b'));
  await mount(host, join(data, 'b'), '', MountFlag.bind, '');
  await mount('tmpfs', data, 'tmpfs', 0, '');
  const openFile = openSync(join(data, 'open-file'), 'w');
  try {
    node.delete('busy');
    await waitUntil('the busy mount is logged', () => node.log().includes(`${data} still mounted: EBUSY`), 60_000);
    assert.ok(existsSync(data));
  } finally {
    closeSync(openFile);
  }
  await node.untilGone('busy');
  await waitUntil('the pod’s folder is gone', () => !existsSync(folderOf(pod)), 60_000);
  assert.equal(readFileSync(join(host, 'file'), 'utf8'), 'data');
});
