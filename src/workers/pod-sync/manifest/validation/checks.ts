/** Checks that many fields share. Each check appends its findings to `errors`. */
import { dns1123LabelErrors, dns1123SubdomainErrors, labelKeyErrors, userOrGroupIDErrors } from '../../../../shared/kubernetes/names.ts';
import { invalid, notSupported, required } from '../../../../shared/kubernetes/field-error.ts';

export function checkName(value: string, path: string, nameErrors: (value: string) => string[], errors: string[]): void {
  for (const each of nameErrors(value)) errors.push(invalid(path, value, each));
}

export function checkDNSLabel(value: string, path: string, errors: string[]): void {
  checkName(value, path, dns1123LabelErrors, errors);
}

export function checkDNSSubdomain(value: string, path: string, errors: string[]): void {
  checkName(value, path, dns1123SubdomainErrors, errors);
}

export function checkLabelKey(value: string, path: string, errors: string[]): void {
  checkName(value, path, labelKeyErrors, errors);
}

/** An empty string counts as absent. */
export function checkRequired(value: string | undefined, path: string, errors: string[]): void {
  if (!value) errors.push(required(path));
}

export function checkNonNegative(value: number | undefined, path: string, errors: string[]): void {
  if (value !== undefined && value < 0) errors.push(invalid(path, value, 'must be greater than or equal to 0'));
}

export function checkPositive(value: number | undefined, path: string, errors: string[]): void {
  if ((value ?? 0) <= 0) errors.push(invalid(path, value ?? 0, 'must be greater than zero'));
}

/** Checks an enum value. An absent value passes. */
export function checkSupported(value: string | undefined, path: string, supported: readonly string[], errors: string[]): void {
  if (value !== undefined && !supported.includes(value)) errors.push(notSupported(path, value, supported));
}

/** Checks a required enum value. */
export function checkRequiredEnum(value: string | undefined, path: string, supported: readonly string[], errors: string[]): void {
  if (!value) errors.push(required(path));
  else checkSupported(value, path, supported, errors);
}

export function checkFileMode(value: number | undefined, path: string, errors: string[]): void {
  if (value !== undefined && (value < 0 || value > 0o777)) {
    errors.push(invalid(path, value, 'must be a number between 0 and 0777 (octal), both inclusive'));
  }
}

export function checkID(value: number | undefined, path: string, errors: string[]): void {
  if (value === undefined) return;
  for (const each of userOrGroupIDErrors(value)) errors.push(invalid(path, value, each));
}

export function checkNoBacksteps(value: string, path: string, errors: string[]): void {
  if (value.split('/').includes('..')) errors.push(invalid(path, value, "must not contain '..'"));
}

/** The path must be relative and stay below its base. */
export function checkLocalDescendingPath(value: string, path: string, errors: string[]): void {
  if (value.startsWith('/')) errors.push(invalid(path, value, 'must be a relative path'));
  checkNoBacksteps(value, path, errors);
}

/** Like checkLocalDescendingPath. Also rejects the names that the kubelet's atomic writer uses in the same directory (`..data`, …). */
export function checkLocalNonReservedPath(value: string, path: string, errors: string[]): void {
  checkLocalDescendingPath(value, path, errors);
  if (value.startsWith('..') && !value.startsWith('../')) errors.push(invalid(path, value, "must not start with '..'"));
}
