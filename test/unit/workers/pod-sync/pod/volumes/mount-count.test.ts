import assert from 'node:assert/strict';
import type { Pod, Volume } from '../../../../../../src/shared/kubernetes/api.ts';
import { maxPodMounts, mountCountProblem } from '../../../../../../src/workers/pod-sync/pod/volumes/mount-count.ts';
import { aContainer, aPod } from '../../../../../support/pods/pods.ts';
import { table } from '../../../../../support/table.ts';

function aPodWith(sources: readonly Omit<Volume, 'name'>[], mountsOfEach: readonly { readonly subPath?: string }[] = [{}]): Pod {
  const volumes = sources.map((source, index) => ({ name: `v${index}`, ...source }));
  const volumeMounts = volumes.flatMap(({ name }) =>
    mountsOfEach.map((mount, index) => ({ name, mountPath: `/${name}/${index}`, ...mount })),
  );
  return aPod({ spec: { volumes, containers: [aContainer({ volumeMounts })] } });
}
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
const inMemory = { emptyDir: { medium: 'Memory' } };

const cases: readonly [name: string, pod: Pod, mounts: number][] = [
  ['volumes in memory', aPodWith(times(maxPodMounts + 1, inMemory)), maxPodMounts + 1],
  ['secrets', aPodWith(times(1000, { secret: { secretName: 's' } })), 1000],
  ['subPaths of volumes on disk', aPodWith(times(500, { emptyDir: {} }), times(2, { subPath: 'a' })), 1000],
  ['both', aPodWith(times(500, inMemory), [{ subPath: 'a' }]), 1000],
  ['as many as are allowed', aPodWith(times(maxPodMounts, inMemory)), 0],
  ['volumes on disk', aPodWith([...times(1000, { emptyDir: {} }), ...times(1000, { configMap: { name: 'c' } })]), 0],
  ['unsupported volumes', aPodWith(times(1000, { nfs: { server: 's', path: '/' } })), 0],
  ['volumes that no container mounts', aPodWith(times(1000, inMemory), []), 0],
];
table('the mounts of a pod on the node', (row) => {
  for (const [name, pod, mounts] of cases)
    row(name, () =>
      assert.equal(
        mountCountProblem(pod),
        mounts === 0 ? null : `the pod has ${mounts} volumes in memory and subPaths, more than the 900 mounts that a pod may have`,
      ),
    );
});
