/**
 * /metrics/cadvisor on cgroup v2 beside the Go kubelet's, on the same node with the same pods, one after the other: the series of pods about pressure and
 * I/O, which the test hosts of other tests do not have.
 */
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureGoKubeletBinary } from '../../lab/programs/go-kubelet.ts';
import { GuestNode } from '../support/guest/guest-node.ts';
import { aBusybox, aManifest } from '../support/kubelet/test-node.ts';

const goKubelet = await ensureGoKubeletBinary(console.log);
const isCompared = /^container_(pressure_|fs_|blkio_)\w+\{.*namespace="default"/;
const writtenBytes = 20 * 2 ** 20;

/** The values of a page by series: the name with its labels. The image of a sandbox is known some seconds after its start, so it does not count. */
function seriesOf(page: string): Map<string, number> {
  return new Map(
    page
      .split('\n')
      .filter((line) => isCompared.test(line))
      .map((line): [string, number] => {
        const [, series = '', value] = /^(\S+\{.*\}) (\S+)(?: \d+)?$/.exec(line) ?? assert.fail(line);
        return [series.includes('container=""') ? series.replace(/image="[^"]*"/, 'image=""') : series, Number(value)];
      }),
  );
}
const keysOf = (series: ReadonlyMap<string, number>) => [...series.keys()].toSorted((a, b) => (a < b ? -1 : 1));

describe('the page of cadvisor', () => {
  let node: GuestNode;
  let own: ReadonlyMap<string, number>;
  let peer: ReadonlyMap<string, number>;
  before(async () => {
    node = await GuestNode.start({ containerd: '1.7', share: [dirname(goKubelet)] });
    const spec = (container: Parameters<typeof aBusybox>[0]) => ({
      containers: [aBusybox({ ...container, volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
      volumes: [{ name: 'data', emptyDir: {} }],
    });
    const write = `dd if=/dev/zero of=/data/file bs=1M count=${writtenBytes / 2 ** 20} conv=fsync; touch /data/done; exec sleep 100000`;
    const busy = 'for i in 1 2; do while :; do :; done & done; sleep 20; kill %1 %2; touch /data/done; exec sleep 100000';
    await node.apply(aManifest('writer', spec({ sh: write })));
    await node.apply(aManifest('busy', spec({ sh: busy, resources: { limits: { cpu: '100m' } } })));
    await node.untilPrints('ls /var/lib/kubelet/pods/*/volumes/kubernetes.io~empty-dir/data/done | wc -l', '2', 120_000);
    own = await untilMeasured((series) => valueOf(series, 'container_pressure_cpu_waiting_seconds_total', 'busy') > 1);
    // The Go kubelet exits without a clock.
    await node.guest.check(
      `systemctl stop kubelet && sed 's/^bogomips/cpu MHz : 2000.000\\nbogomips/' /proc/cpuinfo > /run/cpuinfo && mount --bind /run/cpuinfo /proc/cpuinfo &&
       systemd-run -q --unit=peer ${goKubelet} --config=/etc/kubernetes/kubelet.json --hostname-override=guest`,
    );
    await node.untilHealthy();
    // It shows a cgroup once it has measured it.
    peer = await untilMeasured((series) => series.size >= own.size);
  });
  after(() => node?.destroy());

  const valueOf = (series: ReadonlyMap<string, number>, name: string, pod: string) =>
    [...series].find(([key]) => key.startsWith(`${name}{container="app"`) && key.includes(`pod="${pod}-guest"`))?.[1] ?? -1;

  async function untilMeasured(isComplete: (series: ReadonlyMap<string, number>) => boolean): Promise<ReadonlyMap<string, number>> {
    for (const startedMs = performance.now(); ; await sleep(1000)) {
      const series = seriesOf(await node.get('/metrics/cadvisor').catch(() => ''));
      if (valueOf(series, 'container_fs_writes_bytes_total', 'writer') >= writtenBytes && isComplete(series)) return series;
      assert.ok(performance.now() - startedMs < 120_000, keysOf(series).join('\n'));
    }
  }

  test('has the series of the Go kubelet about pressure and I/O of pods on cgroup v2', () => {
    assert.deepEqual(keysOf(own), keysOf(peer));
  });

  test('has values that the Go kubelet continues', () => {
    // Counters, which the peer has read later. What is left to write after a sync is small.
    for (const [series, value] of own) {
      const later = peer.get(series)!;
      assert.ok(value <= later && (!/_fs_|_blkio_/.test(series) || later <= value + 2 ** 20), `${series}: ${value}, then ${later}`);
    }
  });
});
