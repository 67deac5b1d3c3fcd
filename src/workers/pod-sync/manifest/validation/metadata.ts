/** Validates a pod's metadata (upstream apimachinery api/validation/objectmeta.go). */
import type { Pod } from '../../../../shared/kubernetes/api.ts';
import { dns1123LabelErrors, dns1123SubdomainErrors, labelKeyErrors } from '../../../../shared/kubernetes/names.ts';
import { checkName, checkNonNegative } from './checks.ts';
import { invalid, required, tooLong } from '../../../../shared/kubernetes/field-error.ts';
import { validateLabels } from './labels.ts';

type Metadata = Pod['metadata'];
type OwnerReference = NonNullable<Metadata['ownerReferences']>[number];

const maxAnnotationsBytes = 256 * 1024;
/** A UID is part of paths, so its characters and its length (128) are limited. Upstream does not check UIDs: its API server generates them. */
const uidPattern = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/;

export function validateMetadata(metadata: Metadata, path: string, errors: string[]): void {
  const { name, generateName, namespace, uid, labels, annotations, ownerReferences = [], finalizers = [] } = metadata;
  if (generateName) checkName(maskTrailingDash(generateName), `${path}.generateName`, dns1123SubdomainErrors, errors);
  if (!name) errors.push(required(`${path}.name`, 'name or generateName is required'));
  else checkName(name, `${path}.name`, dns1123SubdomainErrors, errors);
  if (!namespace) errors.push(required(`${path}.namespace`));
  else checkName(namespace, `${path}.namespace`, dns1123LabelErrors, errors);
  if (!uidPattern.test(uid)) errors.push(invalid(`${path}.uid`, uid, "must consist of alphanumeric characters, '-', '_' or '.'"));
  checkNonNegative(metadata.generation, `${path}.generation`, errors);
  validateLabels(labels, `${path}.labels`, errors);
  validateAnnotations(annotations, `${path}.annotations`, errors);
  validateOwnerReferences(ownerReferences, `${path}.ownerReferences`, errors);
  validateFinalizers(finalizers, `${path}.finalizers`, errors);
}

export function validateAnnotations(annotations: Readonly<Record<string, string>> | undefined, path: string, errors: string[]): void {
  for (const key of Object.keys(annotations ?? {})) {
    for (const each of labelKeyErrors(key.toLowerCase())) errors.push(invalid(path, key, each));
  }
  validateAnnotationsSize(annotations, path, errors);
}

export function validateAnnotationsSize(annotations: Readonly<Record<string, string>> | undefined, path: string, errors: string[]): void {
  const bytes = Object.entries(annotations ?? {})
    .map(([key, value]) => Buffer.byteLength(key) + Buffer.byteLength(value))
    .reduce((sum, each) => sum + each, 0);
  if (bytes > maxAnnotationsBytes) errors.push(tooLong(path, maxAnnotationsBytes));
}

function validateOwnerReferences(references: readonly OwnerReference[], path: string, errors: string[]): void {
  for (const { apiVersion, kind, name, uid } of references) {
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    if (!version) errors.push(invalid(`${path}.apiVersion`, apiVersion, 'version must not be empty'));
    for (const [field, value] of Object.entries({ kind, name, uid })) {
      if (value === '') errors.push(invalid(`${path}.${field}`, value, 'must not be empty'));
    }
    if (group === '' && version === 'v1' && kind === 'Event') {
      errors.push(invalid(path, { apiVersion, kind, name, uid }, '/v1, Kind=Event is disallowed from being an owner'));
    }
  }
  const controllers = references.filter(({ controller }) => controller).map(({ kind, name }) => `${kind}/${name}`);
  for (const other of controllers.slice(1)) {
    const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controllers[0]} and ${other}`;
    errors.push(invalid(path, references, detail));
  }
}

const standardFinalizers = ['kubernetes', 'orphan', 'foregroundDeletion'];

function validateFinalizers(finalizers: readonly string[], path: string, errors: string[]): void {
  for (const [index, finalizer] of finalizers.entries()) {
    checkName(finalizer, path, labelKeyErrors, errors);
    if (!finalizer.includes('/') && !standardFinalizers.includes(finalizer)) {
      errors.push(invalid(`${path}[${index}]`, finalizer, 'name is neither a standard finalizer name nor is it fully qualified'));
    }
  }
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    errors.push(invalid(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'));
  }
}

/** A generateName prefix may end with a dash, because a suffix follows. */
function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name;
}
