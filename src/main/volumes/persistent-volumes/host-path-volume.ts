/** Paths of this node (upstream pkg/volume/hostpath), as clusters of one node use them. Nothing is mounted in the pod's folder. */
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { volumeModeProblem } from '../claims/volume-mode.ts';
import type { PersistentVolume } from '../volume-objects.ts';
import type { PersistentVolumeKind } from './persistent-volume-kind.ts';

type HostPathSource = NonNullable<NonNullable<PersistentVolume['spec']>['hostPath']>;

export const hostPathVolume: PersistentVolumeKind<HostPathSource> = {
  supportsMountOptions: false,
  async toPublication(claimed) {
    const { persistentVolume, source, readOnly } = claimed;
    const problem = volumeModeProblem(claimed);
    if (problem !== null) return problem;
    const { path, type = '' } = source;
    const failed = (why: string) =>
      ({ outcome: 'failed', message: `MountVolume.SetUp failed for volume ${goQuote(persistentVolume.metadata.name)} : ${why}` }) as const;
    return {
      published: { place: { hostPath: path }, readOnly },
      persistentVolume,
      async publish(publisher) {
        if (path.split('/').includes('..')) return failed(`invalid HostPath \`${path}\`: must not contain '..'`);
        // Without a type, nothing is checked: the runtime reports a missing path.
        if (type === '') return { outcome: 'done' };
        const reply = await publisher.checkHostPath(path, type);
        return reply.outcome === 'failed' ? failed(reply.message) : reply;
      },
    };
  },
};
