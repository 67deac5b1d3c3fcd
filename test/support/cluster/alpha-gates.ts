/**
 * Feature gates that are off by default and that tests use, as flags of kube-apiserver: without them it drops the fields. A kubelet of a test enables
 * what it needs.
 */
const gates = [
  'AtomicWriteVolumeUserFields',
  'CSIVolumeHealth',
  'EmptyDirVolumeMode',
  'GRPCContainerProbeTLS',
  'H2CContainerProbe',
  'VolumeBindMountOptions',
];

export const alphaGateFlags: readonly string[] = [`--feature-gates=${gates.map((gate) => `${gate}=true`).join(',')}`];
