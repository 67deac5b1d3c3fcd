/** Validates a container's environment. */
import type { Container, EnvVar } from '../../../../shared/kubernetes/api.ts';
import { configMapKeyErrors, dns1123SubdomainErrors, envVarNameErrors } from '../../../../shared/kubernetes/names.ts';
import type { ManifestGates } from '../manifest-gates.ts';
import { checkDNSLabel, checkName, checkNoBacksteps } from './checks.ts';
import { invalid, required } from '../../../../shared/kubernetes/field-error.ts';
import { envFieldPaths, validateFieldRef, validateResourceFieldRef } from './field-references.ts';

type ValueFrom = NonNullable<EnvVar['valueFrom']>;

export function validateEnv(vars: readonly EnvVar[], gates: ManifestGates, path: string, errors: string[]): void {
  for (const [index, { name, value, valueFrom }] of vars.entries()) {
    const variablePath = `${path}[${index}]`;
    if (!name) errors.push(required(`${variablePath}.name`));
    else checkName(name, `${variablePath}.name`, envVarNameErrors, errors);
    if (valueFrom) validateValueFrom(valueFrom, value ?? '', gates, `${variablePath}.valueFrom`, errors);
  }
}

function validateValueFrom(from: ValueFrom, value: string, gates: ManifestGates, path: string, errors: string[]): void {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = from;
  if (fieldRef) validateFieldRef(fieldRef, envFieldPaths, `${path}.fieldRef`, errors);
  if (resourceFieldRef) validateResourceFieldRef(resourceFieldRef, false, `${path}.resourceFieldRef`, errors);
  if (configMapKeyRef) validateKeyRef(configMapKeyRef, `${path}.configMapKeyRef`, errors);
  if (secretKeyRef) validateKeyRef(secretKeyRef, `${path}.secretKeyRef`, errors);
  if (fileKeyRef) validateFileKeyRef(fileKeyRef, `${path}.fileKeyRef`, errors);
  const sources = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(Boolean).length;
  if (sources === 0) {
    const lastAlternatives = gates.EnvFiles ? '`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`' : '`configMapKeyRef` or `secretKeyRef`';
    errors.push(invalid(path, '', `must specify one of: \`fieldRef\`, \`resourceFieldRef\`, ${lastAlternatives}`));
  } else if (value !== '') errors.push(invalid(path, '', 'may not be specified when `value` is not empty'));
  else if (sources > 1) errors.push(invalid(path, '', 'may not have more than one field specified at a time'));
}

function validateKeyRef({ name = '', key }: NonNullable<ValueFrom['configMapKeyRef']>, path: string, errors: string[]): void {
  checkName(name, `${path}.name`, dns1123SubdomainErrors, errors);
  if (!key) errors.push(required(`${path}.key`));
  else checkName(key, `${path}.key`, configMapKeyErrors, errors);
}

function validateFileKeyRef({ key, volumeName, path: file }: NonNullable<ValueFrom['fileKeyRef']>, path: string, errors: string[]): void {
  if (!key) errors.push(required(`${path}.key`));
  else checkName(key, `${path}.key`, envVarNameErrors, errors);
  if (!volumeName) errors.push(required(`${path}.volumeName`));
  else checkDNSLabel(volumeName, `${path}.volumeName`, errors);
  if (!file) errors.push(required(`${path}.path`));
  else checkNoBacksteps(file, `${path}.path`, errors);
}

export function validateEnvFrom(sources: NonNullable<Container['envFrom']>, path: string, errors: string[]): void {
  for (const [index, { prefix, configMapRef, secretRef }] of sources.entries()) {
    const sourcePath = `${path}[${index}]`;
    if (prefix) checkName(prefix, `${sourcePath}.prefix`, envVarNameErrors, errors);
    for (const [kind, ref] of Object.entries({ configMapRef, secretRef })) {
      if (!ref) continue;
      if (!ref.name) errors.push(required(`${sourcePath}.${kind}.name`));
      else checkName(ref.name, `${sourcePath}.${kind}.name`, dns1123SubdomainErrors, errors);
    }
    if (!configMapRef && !secretRef) errors.push(invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'));
    if (configMapRef && secretRef) errors.push(invalid(path, '', 'may not have more than one field specified at a time'));
  }
}
