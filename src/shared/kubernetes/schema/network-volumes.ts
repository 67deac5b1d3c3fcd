/**
 * Schema of volumes of particular storage systems, from the v1 API: field names and types, and `always` for a field that Go writes also when it is empty.
 * Kubelets no longer mount most of them, but the API still has them.
 */
import { always, bool, int32, list, map, pointer, struct, text } from './types.ts';
import { localObjectReference } from './references.ts';

export const gcePersistentDiskVolumeSource = struct({
  pdName: always(text),
  fsType: text,
  partition: int32,
  readOnly: bool,
});
export const awsElasticBlockStoreVolumeSource = struct({
  volumeID: always(text),
  fsType: text,
  partition: int32,
  readOnly: bool,
});
export const nfsVolumeSource = struct({
  server: always(text),
  path: always(text),
  readOnly: bool,
});
export const iscsiVolumeSource = struct({
  targetPortal: always(text),
  iqn: always(text),
  lun: always(int32),
  iscsiInterface: text,
  fsType: text,
  readOnly: bool,
  portals: list(text),
  chapAuthDiscovery: bool,
  chapAuthSession: bool,
  secretRef: pointer(localObjectReference),
  initiatorName: pointer(text),
});
export const glusterfsVolumeSource = struct({
  endpoints: always(text),
  path: always(text),
  readOnly: bool,
});
export const rbdVolumeSource = struct({
  monitors: always(list(text)),
  image: always(text),
  fsType: text,
  pool: text,
  user: text,
  keyring: text,
  secretRef: pointer(localObjectReference),
  readOnly: bool,
});
export const flexVolumeSource = struct({
  driver: always(text),
  fsType: text,
  secretRef: pointer(localObjectReference),
  readOnly: bool,
  options: map(text),
});
export const cinderVolumeSource = struct({
  volumeID: always(text),
  fsType: text,
  readOnly: bool,
  secretRef: pointer(localObjectReference),
});
export const cephFSVolumeSource = struct({
  monitors: always(list(text)),
  path: text,
  user: text,
  secretFile: text,
  secretRef: pointer(localObjectReference),
  readOnly: bool,
});
export const flockerVolumeSource = struct({
  datasetName: text,
  datasetUUID: text,
});
export const fcVolumeSource = struct({
  targetWWNs: list(text),
  lun: pointer(int32),
  fsType: text,
  readOnly: bool,
  wwids: list(text),
});
export const azureFileVolumeSource = struct({
  secretName: always(text),
  shareName: always(text),
  readOnly: bool,
});
export const vsphereVirtualDiskVolumeSource = struct({
  volumePath: always(text),
  fsType: text,
  storagePolicyName: text,
  storagePolicyID: text,
});
export const quobyteVolumeSource = struct({
  registry: always(text),
  volume: always(text),
  readOnly: bool,
  user: text,
  group: text,
  tenant: text,
});
export const azureDiskVolumeSource = struct({
  diskName: always(text),
  diskURI: always(text),
  cachingMode: pointer(text),
  fsType: pointer(text),
  readOnly: pointer(bool),
  kind: pointer(text),
});
export const photonPersistentDiskVolumeSource = struct({
  pdID: always(text),
  fsType: text,
});
export const portworxVolumeSource = struct({
  volumeID: always(text),
  fsType: text,
  readOnly: bool,
});
export const scaleIOVolumeSource = struct({
  gateway: always(text),
  system: always(text),
  secretRef: pointer(localObjectReference),
  sslEnabled: bool,
  protectionDomain: text,
  storagePool: text,
  storageMode: text,
  volumeName: text,
  fsType: text,
  readOnly: bool,
});
export const storageOSVolumeSource = struct({
  volumeName: text,
  volumeNamespace: text,
  fsType: text,
  readOnly: bool,
  secretRef: pointer(localObjectReference),
});
