/**
 * What pods need of volumes that outlive them: their claims, the persistent volumes behind these, and the CSI drivers of this node. Resolves the volume of a pod with
 * single GETs (a node may not list or watch claims), gives it to the volumes thread, and wakes the pods whose volumes are ready. Registers CSI drivers in the Node and
 * the CSINode. The composition root owns it. Upstream: pkg/kubelet/volumemanager/populator, pkg/volume/csi and its nodeinfomanager.
 */
export { Attachments, type AttachmentsOptions } from './attachments/attachments.ts';
export { hasVolumeRecords } from './attachments/has-volume-records.ts';
export { LeftMountsReader } from './attachments/left-mounts.ts';
export { VolumesInUse } from './attachments/volumes-in-use.ts';
export { CsiRegistration } from './csi-registration.ts';
export { VolumeManager, type VolumeManagerOptions, type VolumesRejection } from './volume-manager.ts';
export { VolumeObjects } from './volume-objects.ts';
export { AllocatableUpdates } from './csi-node/allocatable-updates.ts';
export { CsiNodeInitialization } from './csi-node/csi-node-initialization.ts';
export { CsiNodeWriter } from './csi-node/csi-node-writer.ts';
export { VolumeHealthManager, type VolumeHealthManagerOptions } from './health/volume-health-manager.ts';
