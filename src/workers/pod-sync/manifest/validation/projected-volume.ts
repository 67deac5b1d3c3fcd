/** Validates projected volumes: several sources in one directory without path conflicts. The limits are the API's. */
import type { Volume } from '../../../../shared/kubernetes/api.ts';
import { labelKeyErrors } from '../../../../shared/kubernetes/names.ts';
import { checkFileMode, checkID, checkLocalNonReservedPath, checkRequired, checkSupported } from './checks.ts';
import { forbidden, invalid, required } from '../../../../shared/kubernetes/field-error.ts';
import { validateLabelSelector } from './labels.ts';
import { validateDownwardAPIFile, validateItems } from './local-volumes.ts';
import { isKubernetesSigner, trustBundleNameErrors, validateSignerName } from './signer-names.ts';
import { validateAnnotationsSize } from './metadata.ts';

type Projected = NonNullable<Volume['projected']>;
type Source = NonNullable<Projected['sources']>[number];
/** Records a path and reports an error when it is already used. `value` is the value in the error. */
type AddPath = (file: string | undefined, value?: string) => void;

export function validateProjected(projected: Projected, path: string, errors: string[]): void {
  checkFileMode(projected.defaultMode, `${path}.defaultMode`, errors);
  checkID(projected.defaultUser, `${path}.defaultUser`, errors);
  const paths = new Set<string>();
  const addPath: AddPath = (file, value = file) => {
    if (!file) return;
    if (paths.has(file)) errors.push(invalid(path, value, 'conflicting duplicate paths'));
    paths.add(file);
  };
  for (const [index, source] of (projected.sources ?? []).entries()) {
    const sourcePath = `${path}.sources[${index}]`;
    validateSource(source, sourcePath, addPath, errors);
    if (Object.keys(source).length > 1) errors.push(forbidden(sourcePath, 'may not specify more than 1 volume type per source'));
  }
}

function validateSource(source: Source, path: string, addPath: AddPath, errors: string[]): void {
  for (const kind of ['secret', 'configMap'] as const) {
    const { [kind]: projection } = source;
    if (!projection) continue;
    checkRequired(projection.name, `${path}.${kind}.name`, errors);
    validateItems(projection.items ?? [], `${path}.${kind}.items`, errors);
    for (const item of projection.items ?? []) addPath(item.path, projection.name ?? '');
  }
  for (const file of source.downwardAPI?.items ?? []) {
    validateDownwardAPIFile(file, `${path}.downwardAPI`, errors);
    addPath(file.path);
  }
  if (source.serviceAccountToken) validateToken(source.serviceAccountToken, `${path}.serviceAccountToken`, errors);
  if (source.clusterTrustBundle) validateTrustBundle(source.clusterTrustBundle, `${path}.clusterTrustBundle`, addPath, errors);
  if (source.podCertificate) validateCertificate(source.podCertificate, `${path}.podCertificate`, addPath, errors);
}

function validateToken(token: NonNullable<Source['serviceAccountToken']>, path: string, errors: string[]): void {
  const { expirationSeconds = 0, path: file, user } = token;
  if (expirationSeconds < 600) {
    errors.push(invalid(`${path}.expirationSeconds`, expirationSeconds, 'may not specify a duration less than 10 minutes'));
  }
  if (expirationSeconds > 2 ** 32) {
    errors.push(invalid(`${path}.expirationSeconds`, expirationSeconds, 'may not specify a duration larger than 2^32 seconds'));
  }
  checkRequired(file, `${path}.path`, errors);
  checkLocalNonReservedPath(file, `${path}.path`, errors);
  checkID(user, `${path}.user`, errors);
}

function validateTrustBundle(bundle: NonNullable<Source['clusterTrustBundle']>, path: string, addPath: AddPath, errors: string[]): void {
  const { name, signerName, labelSelector, path: file, user } = bundle;
  if (name !== undefined && signerName !== undefined) {
    errors.push(invalid(path, bundle, 'only one of name and signerName may be used'));
  } else if (name !== undefined) {
    if (name === '') errors.push(required(`${path}.name`, 'must be a valid object name'));
    for (const each of trustBundleNameErrors(name)) {
      errors.push(invalid(`${path}.name`, name, `not a valid clustertrustbundlename: ${each}`));
    }
    if (labelSelector) errors.push(invalid(`${path}.labelSelector`, labelSelector, 'labelSelector must be unset if name is specified'));
  } else if (signerName !== undefined) {
    if (signerName === '') errors.push(required(`${path}.signerName`, 'must be a valid signer name'));
    validateSignerName(signerName, `${path}.signerName`, errors);
    validateLabelSelector(labelSelector, `${path}.labelSelector`, errors);
  } else {
    errors.push(required(path, 'either name or signerName must be specified'));
  }
  checkRequired(file, `${path}.path`, errors);
  checkID(user, `${path}.user`, errors);
  checkLocalNonReservedPath(file, `${path}.path`, errors);
  addPath(file);
}

const keyTypes = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];
const minExpirationSeconds = 3600;
const maxExpirationSeconds = { kubernetes: 24 * 3600, other: 91 * 24 * 3600 };

function validateCertificate(certificate: NonNullable<Source['podCertificate']>, path: string, addPath: AddPath, errors: string[]): void {
  const { signerName, keyType, maxExpirationSeconds: expiration, userAnnotations, user } = certificate;
  validateSignerName(signerName, `${path}.signerName`, errors);
  for (const key of Object.keys(userAnnotations ?? {})) validateUserAnnotation(key, `${path}.userAnnotations`, errors);
  validateAnnotationsSize(userAnnotations, `${path}.userAnnotations`, errors);
  checkID(user, `${path}.user`, errors);
  checkSupported(keyType, `${path}.keyType`, keyTypes, errors);
  if (expiration !== undefined) {
    const maxSeconds = isKubernetesSigner(signerName) ? maxExpirationSeconds.kubernetes : maxExpirationSeconds.other;
    const maxExpirationPath = `${path}.maxExpirationSeconds`;
    if (expiration < minExpirationSeconds)
      errors.push(invalid(maxExpirationPath, expiration, `if provided, maxExpirationSeconds must be >= 3600`));
    if (expiration > maxSeconds)
      errors.push(invalid(maxExpirationPath, expiration, `if provided, maxExpirationSeconds must be <= ${maxSeconds}`));
  }
  let files = 0;
  for (const field of ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const) {
    const file = certificate[field];
    if (!file) continue;
    files += 1;
    checkLocalNonReservedPath(file, `${path}.${field}`, errors);
    addPath(file);
  }
  if (files === 0) errors.push(required(path, 'specify at least one of credentialBundlePath, keyPath, and certificateChainPath'));
}

function validateUserAnnotation(key: string, path: string, errors: string[]): void {
  const lower = key.toLowerCase();
  if (lower === '') return void errors.push(required(path));
  const nameErrors = labelKeyErrors(lower).map((each) => invalid(path, lower, each));
  if (nameErrors.length === 0 && !lower.includes('/')) {
    nameErrors.push(invalid(path, lower, 'must be a domain-prefixed key (such as "acme.io/foo")'));
  }
  errors.push(...nameErrors);
}
