/** Validates the most common kinds of volumes: those that the kubelet creates itself, and those with content from API objects. */
import type { Volume } from '../../../../shared/kubernetes/api.ts';
import { compareQuantities } from '../../../../shared/kubernetes/quantity.ts';
import { dns1123SubdomainErrors } from '../../../../shared/kubernetes/names.ts';
import {
  checkFileMode,
  checkID,
  checkLocalDescendingPath,
  checkLocalNonReservedPath,
  checkName,
  checkNoBacksteps,
  checkRequired,
  checkRequiredEnum,
  checkSupported,
} from './checks.ts';
import { forbidden, invalid, required, tooLong } from '../../../../shared/kubernetes/field-error.ts';
import { validateFieldRef, validateResourceFieldRef, volumeFieldPaths } from './field-references.ts';

export type ValidatedSource<K extends keyof Volume> = NonNullable<Volume[K]>;
type Item = NonNullable<ValidatedSource<'secret'>['items']>[number];
type DownwardAPIFile = NonNullable<ValidatedSource<'downwardAPI'>['items']>[number];

export function validateEmptyDir({ sizeLimit, mode }: ValidatedSource<'emptyDir'>, path: string, errors: string[]): void {
  if (sizeLimit !== undefined && compareQuantities(sizeLimit, '0') < 0) {
    errors.push(forbidden(`${path}.sizeLimit`, 'SizeLimit field must be a valid resource quantity'));
  }
  if (mode !== undefined && (mode < 0 || mode > 0o1777)) {
    errors.push(invalid(`${path}.mode`, mode, 'must be a number between 0 and 01777 (octal), both inclusive'));
  }
}

const hostPathTypes = ['', 'DirectoryOrCreate', 'Directory', 'FileOrCreate', 'File', 'Socket', 'CharDevice', 'BlockDevice'];

export function validateHostPath(hostPath: ValidatedSource<'hostPath'>, path: string, errors: string[]): void {
  if (!hostPath.path) return void errors.push(required(`${path}.path`));
  checkNoBacksteps(hostPath.path, `${path}.path`, errors);
  checkSupported(hostPath.type, `${path}.type`, hostPathTypes, errors);
}

export function validateGitRepo(gitRepo: ValidatedSource<'gitRepo'>, path: string, errors: string[]): void {
  checkRequired(gitRepo.repository, `${path}.repository`, errors);
  checkLocalDescendingPath(gitRepo.directory ?? '', `${path}.directory`, errors);
}

export function validateSecret(
  { secretName, defaultMode, defaultUser, items = [] }: ValidatedSource<'secret'>,
  path: string,
  errors: string[],
): void {
  checkRequired(secretName, `${path}.secretName`, errors);
  checkFileMode(defaultMode, `${path}.defaultMode`, errors);
  checkID(defaultUser, `${path}.defaultUser`, errors);
  validateItems(items, `${path}.items`, errors);
}

export function validateConfigMap(
  { name, defaultMode, defaultUser, items = [] }: ValidatedSource<'configMap'>,
  path: string,
  errors: string[],
): void {
  checkRequired(name, `${path}.name`, errors);
  checkFileMode(defaultMode, `${path}.defaultMode`, errors);
  checkID(defaultUser, `${path}.defaultUser`, errors);
  validateItems(items, `${path}.items`, errors);
}

export function validateItems(items: readonly Item[], path: string, errors: string[]): void {
  for (const [index, item] of items.entries()) {
    const itemPath = `${path}[${index}]`;
    checkRequired(item.key, `${itemPath}.key`, errors);
    checkRequired(item.path, `${itemPath}.path`, errors);
    checkLocalNonReservedPath(item.path, `${itemPath}.path`, errors);
    checkFileMode(item.mode, `${itemPath}.mode`, errors);
    checkID(item.user, `${itemPath}.user`, errors);
  }
}

export function validateDownwardAPI(
  { defaultMode, defaultUser, items = [] }: ValidatedSource<'downwardAPI'>,
  path: string,
  errors: string[],
): void {
  checkFileMode(defaultMode, `${path}.defaultMode`, errors);
  checkID(defaultUser, `${path}.defaultUser`, errors);
  for (const file of items) validateDownwardAPIFile(file, path, errors);
}

export function validateDownwardAPIFile(file: DownwardAPIFile, path: string, errors: string[]): void {
  checkRequired(file.path, `${path}.path`, errors);
  checkLocalNonReservedPath(file.path, `${path}.path`, errors);
  if (file.fieldRef) {
    validateFieldRef(file.fieldRef, volumeFieldPaths, `${path}.fieldRef`, errors);
    if (file.resourceFieldRef) {
      errors.push(invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'));
    }
  } else if (file.resourceFieldRef) {
    validateResourceFieldRef(file.resourceFieldRef, true, `${path}.resourceFieldRef`, errors);
  } else {
    errors.push(required(path, 'one of fieldRef and resourceFieldRef is required'));
  }
  checkFileMode(file.mode, `${path}.mode`, errors);
  checkID(file.user, `${path}.user`, errors);
}

export function validateClaim({ claimName }: ValidatedSource<'persistentVolumeClaim'>, path: string, errors: string[]): void {
  checkRequired(claimName, `${path}.claimName`, errors);
}

/** The CSI specification's limit of a plugin's name (upstream ValidateCSIDriverName). */
const maxDriverNameLength = 63;

export function validateCSI({ driver, nodePublishSecretRef }: ValidatedSource<'csi'>, path: string, errors: string[]): void {
  if (!driver) errors.push(required(`${path}.driver`));
  else if (driver.length > maxDriverNameLength) errors.push(tooLong(`${path}.driver`, maxDriverNameLength));
  else for (const each of dns1123SubdomainErrors(driver.toLowerCase())) errors.push(invalid(`${path}.driver`, driver, each));
  if (!nodePublishSecretRef) return;
  const { name } = nodePublishSecretRef;
  if (!name) errors.push(required(`${path}.nodePublishSecretRef.name`));
  // Upstream leaves out the field of the reference here.
  else checkName(name, `${path}.name`, dns1123SubdomainErrors, errors);
}

export function validateImageVolume({ reference, pullPolicy }: ValidatedSource<'image'>, path: string, errors: string[]): void {
  checkRequired(reference, `${path}.reference`, errors);
  checkRequiredEnum(pullPolicy, `${path}.pullPolicy`, ['Always', 'IfNotPresent', 'Never'], errors);
}
