/** What tests of cgroups in a guest apply and read. */
import { aBusybox, aManifest } from '../kubelet/test-node.ts';

/** The Go kubelet gives the slice of this pod the values below, measured on the same kernel and systemd. */
export const limitedPod = (name: string, uid?: string): object =>
  aManifest(
    name,
    { containers: [aBusybox({ resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '64Mi' } } })] },
    uid === undefined ? {} : { uid },
  );
export const limitedValues = '67108864 100 4 20000 100000';

/** Prints the values of a pod's cgroup. */
export const valuesOf = (folder: string): string => `cd ${folder} && echo $(cat memory.max pids.max cpu.weight cpu.max)`;

export const burstableSlice = '/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice';
/** Prints the number of loaded slices of pods. */
export const countPodSlices = "systemctl list-units --all --plain --no-legend 'kubepods*' | grep -c -- '-pod'";
