/** Validates the volume claim template of a generic ephemeral volume (upstream ValidatePersistentVolumeClaimTemplate). */
import type { Volume } from '../../../../shared/kubernetes/api.ts';
import { dns1123LabelErrors, dns1123SubdomainErrors } from '../../../../shared/kubernetes/names.ts';
import { compareQuantities } from '../../../../shared/kubernetes/quantity.ts';
import { checkName, checkRequired, checkSupported } from './checks.ts';
import { forbidden, invalid, notSupported, required } from '../../../../shared/kubernetes/field-error.ts';
import { validateLabels, validateLabelSelector } from './labels.ts';
import { validateAnnotations } from './metadata.ts';

type Template = NonNullable<NonNullable<Volume['ephemeral']>['volumeClaimTemplate']>;
type ClaimSpec = Template['spec'];

const accessModes = ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'];

export function validateEphemeralVolume(ephemeral: NonNullable<Volume['ephemeral']>, path: string, errors: string[]): void {
  const { volumeClaimTemplate: template } = ephemeral;
  const templatePath = `${path}.volumeClaimTemplate`;
  if (!template) return void errors.push(required(templatePath));
  const { labels, annotations, ...otherFields } = template.metadata ?? {};
  validateAnnotations(annotations, `${templatePath}.metadata.annotations`, errors);
  validateLabels(labels, `${templatePath}.metadata.labels`, errors);
  for (const field of Object.keys(otherFields)) errors.push(forbidden(`${templatePath}.metadata.${field}`, 'cannot be set'));
  validateClaimSpec(template.spec, `${templatePath}.spec`, errors);
}

function validateClaimSpec(spec: ClaimSpec, path: string, errors: string[]): void {
  validateAccessModes(spec.accessModes ?? [], `${path}.accessModes`, errors);
  validateLabelSelector(spec.selector, `${path}.selector`, errors);
  const storage = spec.resources?.requests?.['storage'];
  if (storage === undefined) errors.push(required(`${path}.resources[storage]`));
  else if (compareQuantities(storage, '0') <= 0) errors.push(invalid(`${path}.resources[storage]`, storage, 'must be greater than zero'));
  for (const field of ['storageClassName', 'volumeAttributesClassName'] as const) {
    if (spec[field]) checkName(spec[field], `${path}.${field}`, dns1123SubdomainErrors, errors);
  }
  checkSupported(spec.volumeMode, `${path}.volumeMode`, ['Block', 'Filesystem'], errors);
  validateDataSources(spec, path, errors);
}

function validateAccessModes(modes: readonly string[], path: string, errors: string[]): void {
  if (modes.length === 0) errors.push(required(path, 'at least 1 access mode is required'));
  for (const mode of modes) if (!accessModes.includes(mode)) errors.push(notSupported(path, mode, accessModes));
  const hasOtherModes = modes.some((mode) => mode !== 'ReadWriteOncePod' && accessModes.includes(mode));
  if (modes.includes('ReadWriteOncePod') && hasOtherModes)
    errors.push(forbidden(path, 'may not use ReadWriteOncePod with other access modes'));
}

function validateDataSources({ dataSource, dataSourceRef }: ClaimSpec, path: string, errors: string[]): void {
  if (dataSource) validateDataSource(dataSource, `${path}.dataSource`, errors);
  if (!dataSourceRef) return;
  validateDataSource(dataSourceRef, `${path}.dataSourceRef`, errors);
  const { namespace } = dataSourceRef;
  if (namespace) checkName(namespace, `${path}.dataSourceRef.namespace`, dns1123LabelErrors, errors);
  if (!dataSource) return;
  const isSame = (['apiGroup', 'kind', 'name'] as const).every((field) => dataSource[field] === dataSourceRef[field]);
  if (namespace) errors.push(invalid(path, 'dataSource', 'may not be specified when dataSourceRef.namespace is specified'));
  else if (!isSame) errors.push(invalid(path, 'dataSource', 'must match dataSourceRef'));
}

function validateDataSource(source: NonNullable<ClaimSpec['dataSource']>, path: string, errors: string[]): void {
  checkRequired(source.name, `${path}.name`, errors);
  checkRequired(source.kind, `${path}.kind`, errors);
  if (source.apiGroup) checkName(source.apiGroup, `${path}.apiGroup`, dns1123SubdomainErrors, errors);
  else if (source.kind !== 'PersistentVolumeClaim') {
    errors.push(invalid(path, source.kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  }
}
