/** Creates bound claims with persistent volumes, of the test driver or another kind: no controller binds them. */
import type { ApiClient } from '../../../lab/control-plane/control-plane-api.ts';
import { waitUntil } from '../runtime/simulated-runtime.ts';

interface Claim {
  readonly metadata: { readonly uid: string };
}

export interface ClaimOptions {
  readonly namespace: string;
  /** Absent: `spec` has another source. */
  readonly driver?: string;
  /** The claim's name. The volume's is `pv-<namespace>-<name>`, and its handle is its name. */
  readonly name: string;
  /** True: the controller manager makes the claim, for a pod. */
  readonly isOfPod?: boolean;
  /** More fields of the volume's spec. */
  readonly spec?: object;
  /** More fields of its CSI source. */
  readonly source?: object;
}

/** Resolves with the name of the persistent volume. Cluster-wide, it stays until `deleteVolume`. */
export async function createBoundClaim(
  api: ApiClient,
  { namespace, driver, name, isOfPod = false, spec, source }: ClaimOptions,
): Promise<string> {
  const volume = `pv-${namespace}-${name}`;
  const claims = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
  const common = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  const body = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { ...common, volumeName: volume, resources: { requests: { storage: '1Gi' } } },
  };
  const claim = isOfPod
    ? await waitUntil('the claim exists', () => api.find<Claim>(`${claims}/${name}`))
    : await api.create<Claim>(claims, body);
  if (isOfPod) await api.patch(`${claims}/${name}`, { spec: { volumeName: volume } });
  await api.create('/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: volume },
    spec: {
      ...common,
      capacity: { storage: '1Gi' },
      persistentVolumeReclaimPolicy: 'Retain',
      claimRef: { kind: 'PersistentVolumeClaim', namespace, name, uid: claim.metadata.uid },
      ...(driver !== undefined && { csi: { driver, volumeHandle: volume, fsType: 'ext4', ...source } }),
      ...spec,
    },
  });
  await api.patch(`${claims}/${name}/status`, { status: { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } } });
  return volume;
}
