/** For scripts/e2e, until the runner of tests builds what it needs from ./programs. */
export { ensureControlPlane } from './programs/control-plane.ts';
export { ensureKubeadmBinary } from './programs/kubeadm.ts';
