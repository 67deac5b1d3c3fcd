/** The requests to a driver for one volume (upstream pkg/volume/csi/csi_client.go). Pure. */
import type { PublishVolumeRequest } from '../../../shared/contracts/volumes.ts';
import { toAccessMode } from './access-mode.ts';
import type { DriverCapabilities } from './csi-driver.ts';
import type { NodePublishVolumeRequest, NodeStageVolumeRequest, VolumeCapability } from './generated/csi-v1.ts';

export function stageRequest(
  volume: PublishVolumeRequest,
  capabilities: DriverCapabilities,
  stagingTargetPath: string,
): NodeStageVolumeRequest {
  return {
    volumeId: volume.volumeHandle,
    publishContext: volume.publishContext,
    stagingTargetPath,
    volumeCapability: capabilityOf(volume, capabilities),
    secrets: volume.stageSecrets,
    volumeContext: volume.volumeAttributes,
  };
}

export function publishRequest(
  volume: PublishVolumeRequest,
  capabilities: DriverCapabilities,
  paths: { readonly staging: string; readonly target: string },
): NodePublishVolumeRequest {
  return {
    volumeId: volume.volumeHandle,
    publishContext: volume.publishContext,
    stagingTargetPath: capabilities.stages && volume.lifecycle === 'Persistent' ? paths.staging : '',
    targetPath: paths.target,
    volumeCapability: capabilityOf(volume, capabilities),
    readonly: volume.readOnly,
    secrets: volume.publishSecrets,
    volumeContext: { ...volume.volumeAttributes, ...volume.podAttributes },
  };
}

function capabilityOf(
  { fsType, mountOptions, accessModes, fsGroup }: PublishVolumeRequest,
  capabilities: DriverCapabilities,
): VolumeCapability {
  const volumeMountGroup = capabilities.mountGroup && fsGroup ? String(fsGroup.fsGroup) : '';
  return {
    block: undefined,
    mount: { fsType, mountFlags: [...mountOptions], volumeMountGroup },
    accessMode: { mode: toAccessMode(accessModes, capabilities.multiWriter) },
  };
}
