/** Applies the defaults of one volume. */
import type { Draft, Volume } from '../../../../shared/kubernetes/api.ts';
import { defaultPullPolicy } from './default-pull-policy.ts';
import { roundToMillis } from './round-to-millis.ts';

type DraftVolume = Draft<Volume>;

const fileMode = 0o644;
const tokenExpirationSeconds = 3600;

export function defaultVolume(volume: DraftVolume): void {
  if (Object.keys(volume).every((field) => field === 'name')) volume.emptyDir = {};
  const { hostPath, secret, configMap, downwardAPI, projected, image, ephemeral } = volume;
  if (hostPath) hostPath.type ??= '';
  if (secret) secret.defaultMode ??= fileMode;
  if (configMap) configMap.defaultMode ??= fileMode;
  if (downwardAPI) {
    downwardAPI.defaultMode ??= fileMode;
    defaultItems(downwardAPI.items);
  }
  if (projected) defaultProjected(projected);
  if (image) image.pullPolicy ??= defaultPullPolicy(image.reference ?? '');
  if (ephemeral?.volumeClaimTemplate) {
    const { spec } = ephemeral.volumeClaimTemplate;
    spec.volumeMode ??= 'Filesystem';
    roundToMillis(spec.resources?.limits);
    roundToMillis(spec.resources?.requests);
  }
  defaultNetworkVolume(volume);
}

function defaultProjected(projected: NonNullable<DraftVolume['projected']>): void {
  projected.defaultMode ??= fileMode;
  for (const { downwardAPI, serviceAccountToken } of projected.sources ?? []) {
    defaultItems(downwardAPI?.items);
    if (serviceAccountToken) serviceAccountToken.expirationSeconds ??= tokenExpirationSeconds;
  }
}

function defaultItems(items: NonNullable<DraftVolume['downwardAPI']>['items']): void {
  for (const { fieldRef } of items ?? []) if (fieldRef) fieldRef.apiVersion ??= 'v1';
}

function defaultNetworkVolume({ iscsi, rbd, azureDisk, scaleIO }: DraftVolume): void {
  if (iscsi) iscsi.iscsiInterface ??= 'default';
  if (rbd) {
    rbd.pool ??= 'rbd';
    rbd.user ??= 'admin';
    rbd.keyring ??= '/etc/ceph/keyring';
  }
  if (azureDisk) {
    azureDisk.cachingMode ??= 'ReadWrite';
    azureDisk.fsType ??= 'ext4';
    azureDisk.readOnly ??= false;
    azureDisk.kind ??= 'Shared';
  }
  if (scaleIO) {
    scaleIO.storageMode ??= 'ThinProvisioned';
    scaleIO.fsType ??= 'xfs';
  }
}
