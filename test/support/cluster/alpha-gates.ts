/**
 * Feature gates that are off by default and that tests use, as flags of kube-apiserver: without them it drops the fields. A kubelet of a test enables
 * what it needs.
 */
export const alphaGateFlags: readonly string[] = [
  '--feature-gates=AtomicWriteVolumeUserFields=true,EmptyDirVolumeMode=true,VolumeBindMountOptions=true',
];
export const alphaGateFlags: readonly string[] = ['--feature-gates=GRPCContainerProbeTLS=true,H2CContainerProbe=true'];
