/**
 * Bytes of a pod that are no UTF-8, on a real runtime: its log, its termination message, the names of its files. Each condition's outcome stands in
 * docs/go-runtime.md, beside the Go kubelet's.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Agent, request } from 'undici';
import { createCgroup } from '../../../lab/host/cgroups.ts';
import { reservePort } from '../../../lab/host/reserve-ports.ts';
import { lastOf } from '../../support/go-runtime/host.ts';
import { assertOutcome } from '../../support/go-runtime/outcomes.ts';
import { kubeletUnderTest } from '../../support/go-runtime/program.ts';
import { aBusybox, aManifest, TestNode } from '../../support/kubelet/test-node.ts';

interface VolumeStats {
  readonly name: string;
  readonly inodesUsed?: number;
}
interface Summary {
  readonly pods?: readonly { readonly volume?: readonly VolumeStats[] }[];
}

test('a log, a termination message and names of files that are no UTF-8', async (t) => {
  const port = await reservePort();
  const node = await TestNode.start(t, {
    config: {
      port,
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      makeIPTablesUtilChains: false,
      volumeStatsAggPeriod: '1s',
    },
  });
  createCgroup(node.cgroupRoot);
  await node.startKubelet({ executable: await kubeletUnderTest() });
  const volumeMounts = [{ name: 'cache', mountPath: '/cache' }];
  const makeFiles = String.raw`mkdir "/cache/$(printf 'd\351')"; for i in 1 2 3; do echo $i > "/cache/$(printf 'd\351')/$(printf 'f\351')$i"; done`;
  const print = String.raw`printf 'caf\351\n'; printf 'th\351' > /dev/termination-log`;
  node.apply(
    aManifest('bytes', {
      restartPolicy: 'Never',
      volumes: [{ name: 'cache', emptyDir: {} }],
      containers: [aBusybox({ name: 'ends', sh: `${print}; ${makeFiles}`, volumeMounts }), aBusybox({ name: 'runs' })],
    }),
  );
  const isEnded = (name: string) => name === 'ends';
  const pod = await node.until('bytes', 'has a container that ended', ({ status }) => {
    const statuses = status?.containerStatuses ?? [];
    return (
      statuses.some(({ name, state }) => isEnded(name) && state?.terminated) && statuses.some(({ name, ready }) => name === 'runs' && ready)
    );
  });
  const ended = pod.status?.containerStatuses?.find(({ name }) => isEnded(name));
  assert.equal(ended?.state?.terminated?.exitCode, 0);
  assertOutcome('a termination message with a byte that is no UTF-8', JSON.stringify(ended.state.terminated.message));

  const insecure = new Agent({ connect: { rejectUnauthorized: false } });
  t.after(() => insecure.destroy());
  const { body } = await request(`https://127.0.0.1:${port}/containerLogs/default/bytes-${node.nodeName}/ends`, { dispatcher: insecure });
  assertOutcome('a log with such a byte', Buffer.from(await body.arrayBuffer()).toString('hex'));

  const cache = await lastOf(
    async () => {
      const { pods } = (await (await node.get('/stats/summary')).json()) as Summary;
      return pods?.flatMap(({ volume = [] }) => volume).find(({ name }) => name === 'cache');
    },
    ({ inodesUsed }) => inodesUsed === 5,
  );
  assertOutcome('the usage of a volume with three such file names in such a folder', `${cache?.inodesUsed} inodes`);

  const folder = join(node.rootDir, 'pods', pod.metadata.uid);
  assert.ok(existsSync(join(folder, 'volumes/kubernetes.io~empty-dir/cache')));
  node.delete('bytes');
  const isGone = await lastOf(
    () => !existsSync(folder),
    (gone) => gone,
  );
  assertOutcome('the end of a pod with such file names', isGone ? 'its folder is removed' : 'its folder stays');
});
