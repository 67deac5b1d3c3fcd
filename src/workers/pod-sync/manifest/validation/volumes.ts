/** Validates a pod's volumes: each has a unique name and exactly one kind. */
import type { Pod, Volume } from '../../../../shared/kubernetes/api.ts';
import { dns1123SubdomainErrors } from '../../../../shared/kubernetes/names.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';
import { checkDNSLabel, checkRequired } from './checks.ts';
import { validateEphemeralVolume } from './claim-template.ts';
import { duplicate, forbidden, invalid, required } from '../../../../shared/kubernetes/field-error.ts';
import * as local from './local-volumes.ts';
import * as network from './network-volumes.ts';
import { validateProjected } from './projected-volume.ts';

type Kind = Exclude<keyof Volume, 'name'>;
type Validators = { readonly [K in Kind]: (source: NonNullable<Volume[K]>, path: string, errors: string[]) => void };

/** In the API's order. For a volume with two kinds, the API reports the second in this order. */
const validators: Validators = {
  emptyDir: local.validateEmptyDir,
  hostPath: local.validateHostPath,
  gitRepo: local.validateGitRepo,
  gcePersistentDisk: network.validateGCEPersistentDisk,
  awsElasticBlockStore: network.validateAWSElasticBlockStore,
  secret: local.validateSecret,
  nfs: network.validateNFS,
  iscsi: network.validateISCSI,
  glusterfs: requireFields(network.requiredFields.glusterfs),
  flocker: network.validateFlocker,
  persistentVolumeClaim: local.validateClaim,
  rbd: network.validateRBD,
  cinder: network.validateCinder,
  cephfs: network.validateCephFS,
  quobyte: network.validateQuobyte,
  downwardAPI: local.validateDownwardAPI,
  fc: network.validateFC,
  flexVolume: network.validateFlexVolume,
  configMap: local.validateConfigMap,
  azureFile: requireFields(network.requiredFields.azureFile),
  vsphereVolume: requireFields(network.requiredFields.vsphereVolume),
  photonPersistentDisk: requireFields(network.requiredFields.photonPersistentDisk),
  portworxVolume: requireFields(network.requiredFields.portworxVolume),
  azureDisk: network.validateAzureDisk,
  storageos: network.validateStorageOS,
  projected: validateProjected,
  scaleIO: requireFields(network.requiredFields.scaleIO),
  csi: local.validateCSI,
  ephemeral: validateEphemeralVolume,
  image: local.validateImageVolume,
};

function requireFields<F extends string>(
  fields: readonly F[],
): (source: { readonly [K in F]?: string | undefined }, path: string, errors: string[]) => void {
  return (source, path, errors) => {
    for (const field of fields) checkRequired(source[field], `${path}.${field}`, errors);
  };
}

/** Returns the valid volumes by name, which containers may mount. */
export function validateVolumes(pod: Pod, path: string, errors: string[]): ReadonlyMap<string, Volume> {
  const volumes = pod.spec.volumes ?? [];
  const podName = pod.metadata.name;
  const ephemeralClaimNames = new Set(volumes.filter(({ ephemeral }) => ephemeral).map(({ name }) => `${podName}-${name}`));
  const valid = new Map<string, Volume>();
  for (const [index, volume] of volumes.entries()) {
    const volumePath = `${path}[${index}]`;
    const volumeErrors: string[] = [];
    validateVolume(volume, podName, volumePath, volumeErrors);
    if (valid.has(volume.name)) volumeErrors.push(duplicate(`${volumePath}.name`, volume.name));
    if (volumeErrors.length === 0) valid.set(volume.name, volume);
    const claimName = volume.persistentVolumeClaim?.claimName;
    if (claimName !== undefined && ephemeralClaimNames.has(claimName)) {
      const detail = 'must not reference a PVC that gets created for an ephemeral volume';
      volumeErrors.push(invalid(`${volumePath}.persistentVolumeClaim.claimName`, claimName, detail));
    }
    for (const each of volumeErrors) errors.push(each);
  }
  return valid;
}

function validateVolume(volume: Volume, podName: string, path: string, errors: string[]): void {
  let kinds = 0;
  for (const kind of Object.keys(validators) as Kind[]) {
    if (volume[kind] === undefined) continue;
    kinds += 1;
    if (kinds > 1) errors.push(forbidden(`${path}.${kind}`, 'may not specify more than 1 volume type'));
    else (validators[kind] as (source: unknown, path: string, errors: string[]) => void)(volume[kind], `${path}.${kind}`, errors);
  }
  if (kinds === 0) errors.push(required(path, 'must specify a volume type'));
  if (volume.iscsi?.initiatorName !== undefined && `${volume.name}:${volume.iscsi.targetPortal}`.length > 64) {
    const detail = 'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';
    errors.push(invalid(`${path}.name`, volume.name, detail));
  }
  if (!volume.name) return void errors.push(required(`${path}.name`));
  checkDNSLabel(volume.name, `${path}.name`, errors);
  if (!volume.ephemeral) return;
  const claimName = `${podName}-${volume.name}`;
  for (const each of dns1123SubdomainErrors(claimName)) {
    errors.push(invalid(`${path}.name`, volume.name, `PVC name ${goQuote(claimName)}: ${each}`));
  }
}
