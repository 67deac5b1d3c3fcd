/** Schema of the volumes of a pod, from the v1 API: field names, types and optionality. */
import { always, bool, int32, int64, list, map, pointer, quantity, struct, text } from './types.ts';
import { labelSelector, objectMeta } from './metadata.ts';
import {
  awsElasticBlockStoreVolumeSource,
  azureDiskVolumeSource,
  azureFileVolumeSource,
  cephFSVolumeSource,
  cinderVolumeSource,
  fcVolumeSource,
  flexVolumeSource,
  flockerVolumeSource,
  gcePersistentDiskVolumeSource,
  glusterfsVolumeSource,
  iscsiVolumeSource,
  nfsVolumeSource,
  photonPersistentDiskVolumeSource,
  portworxVolumeSource,
  quobyteVolumeSource,
  rbdVolumeSource,
  scaleIOVolumeSource,
  storageOSVolumeSource,
  vsphereVirtualDiskVolumeSource,
} from './network-volumes.ts';
import { keyToPath, localObjectReference, objectFieldSelector, resourceFieldSelector } from './references.ts';

const hostPathVolumeSource = struct({
  path: always(text),
  type: pointer(text),
});
const emptyDirVolumeSource = struct({
  medium: text,
  sizeLimit: pointer(quantity),
  mode: pointer(int32),
});
const gitRepoVolumeSource = struct({
  repository: always(text),
  revision: text,
  directory: text,
});
const secretVolumeSource = struct({
  secretName: text,
  items: list(keyToPath),
  defaultMode: pointer(int32),
  optional: pointer(bool),
  defaultUser: pointer(int64),
});
const persistentVolumeClaimVolumeSource = struct({
  claimName: always(text),
  readOnly: bool,
});
const downwardAPIVolumeFile = struct({
  path: always(text),
  fieldRef: pointer(objectFieldSelector),
  resourceFieldRef: pointer(resourceFieldSelector),
  mode: pointer(int32),
  user: pointer(int64),
});
const downwardAPIVolumeSource = struct({
  items: list(downwardAPIVolumeFile),
  defaultMode: pointer(int32),
  defaultUser: pointer(int64),
});
const configMapVolumeSource = struct({
  ...localObjectReference.fields,
  items: list(keyToPath),
  defaultMode: pointer(int32),
  optional: pointer(bool),
  defaultUser: pointer(int64),
});
const secretProjection = struct({
  ...localObjectReference.fields,
  items: list(keyToPath),
  optional: pointer(bool),
});
const downwardAPIProjection = struct({
  items: list(downwardAPIVolumeFile),
});
const configMapProjection = struct({
  ...localObjectReference.fields,
  items: list(keyToPath),
  optional: pointer(bool),
});
const serviceAccountTokenProjection = struct({
  audience: text,
  expirationSeconds: pointer(int64),
  path: always(text),
  user: pointer(int64),
});
const clusterTrustBundleProjection = struct({
  name: pointer(text),
  signerName: pointer(text),
  labelSelector: pointer(labelSelector),
  optional: pointer(bool),
  path: always(text),
  user: pointer(int64),
});
const podCertificateProjection = struct({
  signerName: always(text),
  keyType: always(text),
  maxExpirationSeconds: pointer(int32),
  credentialBundlePath: text,
  keyPath: text,
  certificateChainPath: text,
  userAnnotations: map(text),
  user: pointer(int64),
});
const volumeProjection = struct({
  secret: pointer(secretProjection),
  downwardAPI: pointer(downwardAPIProjection),
  configMap: pointer(configMapProjection),
  serviceAccountToken: pointer(serviceAccountTokenProjection),
  clusterTrustBundle: pointer(clusterTrustBundleProjection),
  podCertificate: pointer(podCertificateProjection),
});
const projectedVolumeSource = struct({
  sources: always(list(volumeProjection)),
  defaultMode: pointer(int32),
  defaultUser: pointer(int64),
});
const csiVolumeSource = struct({
  driver: always(text),
  readOnly: pointer(bool),
  fsType: pointer(text),
  volumeAttributes: map(text),
  nodePublishSecretRef: pointer(localObjectReference),
});
const volumeResourceRequirements = struct({
  limits: map(quantity),
  requests: map(quantity),
});
const typedLocalObjectReference = struct({
  apiGroup: pointer(text),
  kind: always(text),
  name: always(text),
});
const typedObjectReference = struct({
  apiGroup: pointer(text),
  kind: always(text),
  name: always(text),
  namespace: pointer(text),
});
const persistentVolumeClaimSpec = struct({
  accessModes: list(text),
  selector: pointer(labelSelector),
  resources: volumeResourceRequirements,
  volumeName: text,
  storageClassName: pointer(text),
  volumeMode: pointer(text),
  dataSource: pointer(typedLocalObjectReference),
  dataSourceRef: pointer(typedObjectReference),
  volumeAttributesClassName: pointer(text),
});
const persistentVolumeClaimTemplate = struct({
  metadata: objectMeta,
  spec: always(persistentVolumeClaimSpec),
});
const ephemeralVolumeSource = struct({
  volumeClaimTemplate: pointer(persistentVolumeClaimTemplate),
});
const imageVolumeSource = struct({
  reference: text,
  pullPolicy: text,
});
const volumeSource = struct({
  hostPath: pointer(hostPathVolumeSource),
  emptyDir: pointer(emptyDirVolumeSource),
  gcePersistentDisk: pointer(gcePersistentDiskVolumeSource),
  awsElasticBlockStore: pointer(awsElasticBlockStoreVolumeSource),
  gitRepo: pointer(gitRepoVolumeSource),
  secret: pointer(secretVolumeSource),
  nfs: pointer(nfsVolumeSource),
  iscsi: pointer(iscsiVolumeSource),
  glusterfs: pointer(glusterfsVolumeSource),
  persistentVolumeClaim: pointer(persistentVolumeClaimVolumeSource),
  rbd: pointer(rbdVolumeSource),
  flexVolume: pointer(flexVolumeSource),
  cinder: pointer(cinderVolumeSource),
  cephfs: pointer(cephFSVolumeSource),
  flocker: pointer(flockerVolumeSource),
  downwardAPI: pointer(downwardAPIVolumeSource),
  fc: pointer(fcVolumeSource),
  azureFile: pointer(azureFileVolumeSource),
  configMap: pointer(configMapVolumeSource),
  vsphereVolume: pointer(vsphereVirtualDiskVolumeSource),
  quobyte: pointer(quobyteVolumeSource),
  azureDisk: pointer(azureDiskVolumeSource),
  photonPersistentDisk: pointer(photonPersistentDiskVolumeSource),
  projected: pointer(projectedVolumeSource),
  portworxVolume: pointer(portworxVolumeSource),
  scaleIO: pointer(scaleIOVolumeSource),
  storageos: pointer(storageOSVolumeSource),
  csi: pointer(csiVolumeSource),
  ephemeral: pointer(ephemeralVolumeSource),
  image: pointer(imageVolumeSource),
});
export const volume = struct({
  name: always(text),
  ...volumeSource.fields,
});
