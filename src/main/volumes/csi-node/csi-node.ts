/** The CSINode, and its changes for a driver (upstream pkg/volume/csi/nodeinfomanager). Pure. */
import type { DriverNodeInfo, StorageHealthCondition } from '../../../shared/contracts/volumes.ts';
import type { ApiObject } from '../../api/index.ts';

export interface CsiNodeDriver {
  readonly name: string;
  readonly nodeID: string;
  readonly topologyKeys?: readonly string[] | null;
  readonly allocatable?: { readonly count?: number };
}

/** What a driver reports of the storage behind it. */
export interface StorageHealth {
  readonly name: string;
  readonly healthConditions?: readonly (StorageHealthCondition & { readonly lastTransitionTime?: string | null })[] | null;
}

export interface CsiNode extends ApiObject {
  readonly metadata: ApiObject['metadata'] & {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly {
      readonly apiVersion: string;
      readonly kind: string;
      readonly name: string;
      readonly uid: string;
    }[];
  };
  readonly spec: { readonly drivers: readonly CsiNodeDriver[] | null };
  readonly status?: { readonly storageHealth?: readonly StorageHealth[] | null };
}

const migratedAnnotation = 'storage.alpha.kubernetes.io/migrated-plugins';
/** In-tree plugins whose volumes belong to CSI drivers (upstream csi_plugin.go Init). The scheduler reads the list. */
const migratedPlugins = [
  'kubernetes.io/aws-ebs',
  'kubernetes.io/azure-disk',
  'kubernetes.io/azure-file',
  'kubernetes.io/cinder',
  'kubernetes.io/gce-pd',
  'kubernetes.io/portworx-volume',
  'kubernetes.io/vsphere-volume',
];
const maxInt32 = 2 ** 31 - 1;

/** The object of a POST. */
export function newCsiNode(nodeName: string, nodeUID: string): object {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: {
      name: nodeName,
      annotations: { [migratedAnnotation]: migratedPlugins.join(',') },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUID }],
    },
    spec: { drivers: [] },
  };
}

/** Whether the CSINode belongs to this Node, and not to an earlier one of the same name. */
export function isOwnedBy({ metadata }: CsiNode, nodeName: string, nodeUID: string): boolean {
  return metadata.ownerReferences?.some(({ kind, name, uid }) => kind === 'Node' && name === nodeName && uid === nodeUID) ?? false;
}

/** Returns the same object if it has the driver already. */
export function withDriver(csiNode: CsiNode, name: string, { nodeID, maxVolumesPerNode, topology }: DriverNodeInfo): CsiNode {
  const drivers = csiNode.spec.drivers ?? [];
  const count = Math.min(maxVolumesPerNode, maxInt32);
  const topologyKeys = Object.keys(topology).toSorted();
  const existing = drivers.find((driver) => driver.name === name);
  const isSame =
    existing?.nodeID === nodeID &&
    (existing.allocatable?.count ?? 0) === Math.max(count, 0) &&
    new Set(existing.topologyKeys).symmetricDifference(new Set(topologyKeys)).size === 0;
  const migrated = withMigratedPlugins(csiNode);
  if (isSame) return migrated;
  const driver = { name, nodeID, topologyKeys, ...(count > 0 && { allocatable: { count } }) };
  return { ...migrated, spec: { ...csiNode.spec, drivers: [...drivers.filter((other) => other.name !== name), driver] } };
}

/** Returns the same object if it has the annotation; the order of the plugins does not count. */
export function withMigratedPlugins(csiNode: CsiNode): CsiNode {
  const { annotations } = csiNode.metadata;
  const existing = new Set((annotations?.[migratedAnnotation] ?? '').split(','));
  if (existing.symmetricDifference(new Set(migratedPlugins)).size === 0) return csiNode;
  return {
    ...csiNode,
    metadata: { ...csiNode.metadata, annotations: { ...annotations, [migratedAnnotation]: migratedPlugins.join(',') } },
  };
}

/** Returns the same object if it does not have the driver. */
export function withoutDriver(csiNode: CsiNode, name: string): CsiNode {
  const drivers = csiNode.spec.drivers ?? [];
  const others = drivers.filter((driver) => driver.name !== name);
  return others.length === drivers.length ? csiNode : { ...csiNode, spec: { ...csiNode.spec, drivers: others } };
}
