/**
 * Validates names of the Kubernetes API (upstream apimachinery util/validation and api/validate/content). Each function returns
 * its errors in the API's wording; an empty list means a valid value. A value beyond its length limit gets only the length error:
 * a backtracking pattern on megabytes of input would stall the thread.
 */
const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;
const labelWithUnderscore = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const subdomainWithUnderscore = `${labelWithUnderscore}(\\.${labelWithUnderscore})*`;
const labelKey = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValue = `(${labelKey})?`;
const configMapKey = '[-._a-zA-Z0-9]+';
const headerName = '[-A-Za-z0-9]+';

export const maxLabelLength = 63;
export const maxSubdomainLength = 253;

/** A DNS label (RFC 1123): names of containers, volumes and namespaces. */
export function dns1123LabelErrors(value: string): string[] {
  if (value.length > maxLabelLength) return [tooLong(maxLabelLength)];
  if (matches(label, value)) return [];
  if (matches(subdomain, value)) return ['must not contain dots'];
  const rule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
  return [mismatch(rule, label, 'my-name', '123-abc')];
}

/** A DNS subdomain (RFC 1123): names of most objects. */
export function dns1123SubdomainErrors(value: string): string[] {
  if (value.length > maxSubdomainLength) return [tooLong(maxSubdomainLength)];
  if (matches(subdomain, value)) return [];
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return [mismatch(rule, subdomain, 'example.com')];
}

/** A DNS subdomain that may contain underscores: DNS search paths. */
export function dns1123SubdomainWithUnderscoreErrors(value: string): string[] {
  if (value.length > maxSubdomainLength) return [tooLong(maxSubdomainLength)];
  if (matches(subdomainWithUnderscore, value)) return [];
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";
  return [mismatch(rule, subdomainWithUnderscore, 'example.com')];
}

/** A label key, also called a qualified name: a name with an optional DNS subdomain as prefix (`example.com/name`). */
export function labelKeyErrors(value: string): string[] {
  const rule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  const violation = mismatch(rule, labelKey, 'MyName', 'my.name', '123-abc');
  const parts = value.split('/');
  if (parts.length > 2) return [`a valid label key ${violation} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  const name = parts.at(-1) ?? '';
  const errors: string[] = [];
  const prefix = parts.length === 2 ? parts[0] : undefined;
  if (prefix === '') errors.push('prefix part must be non-empty');
  else if (prefix !== undefined) errors.push(...dns1123SubdomainErrors(prefix).map((each) => `prefix part ${each}`));
  if (name.length > maxLabelLength) return [...errors, `name part must be no more than ${maxLabelLength} bytes`];
  if (name === '') errors.push('name part must be non-empty');
  if (!matches(labelKey, name)) errors.push(`name part ${violation}`);
  return errors;
}

export function labelValueErrors(value: string): string[] {
  if (value.length > maxLabelLength) return [`must be no more than ${maxLabelLength} bytes`];
  if (matches(labelValue, value)) return [];
  const rule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  return [mismatch(rule, labelValue, 'MyValue', 'my_value', '12345')];
}

/** The name of a container port (an IANA service name). */
export function portNameErrors(value: string): string[] {
  if (value.length > 15) return [tooLong(15)];
  const errors: string[] = [];
  if (!/^[-a-z0-9]+$/.test(value)) errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(value)) errors.push('must contain at least one letter (a-z)');
  if (value.includes('--')) errors.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) errors.push('must not begin or end with a hyphen');
  return errors;
}

export function portNumberErrors(value: number): string[] {
  return rangeErrors(value, 1, 65535);
}

/** The ID of a user or group. The runtime accepts 31 bits. */
export function userOrGroupIDErrors(value: number): string[] {
  return rangeErrors(value, 0, 2 ** 31 - 1);
}

/** A key of a ConfigMap or Secret. The key becomes a file name. */
export function configMapKeyErrors(value: string): string[] {
  const errors = value.length > maxSubdomainLength ? [tooLong(maxSubdomainLength)] : [];
  if (!matches(configMapKey, value)) {
    errors.push(
      mismatch(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        configMapKey,
        'key.name',
        'KEY_NAME',
        'key-name',
      ),
    );
  }
  if (value === '.' || value === '..') errors.push(`must not be '${value}'`);
  else if (value.startsWith('..')) errors.push("must not start with '..'");
  return errors;
}

/** The name of an environment variable: printable ASCII except `=`. */
export function envVarNameErrors(value: string): string[] {
  if (value === '') return ['environment variable name must be non-empty'];
  if (/^[ -<>-~]+$/.test(value)) return [];
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

export function httpHeaderNameErrors(value: string): string[] {
  if (matches(headerName, value)) return [];
  return [mismatch("a valid HTTP header must consist of alphanumeric characters or '-'", headerName, 'X-Header-Name')];
}

/** Both bounds are inclusive. */
export function rangeErrors(value: number, min: number, max: number): string[] {
  return value >= min && value <= max ? [] : [`must be between ${min} and ${max}, inclusive`];
}

const compiled = new Map(
  [label, subdomain, subdomainWithUnderscore, labelKey, labelValue, configMapKey, headerName].map((pattern) => [
    pattern,
    new RegExp(`^(?:${pattern})$`),
  ]),
);

function matches(pattern: string, value: string): boolean {
  return compiled.get(pattern)?.test(value) ?? false;
}

function tooLong(length: number): string {
  return `must be no more than ${length} characters`;
}

function mismatch(rule: string, pattern: string, ...examples: readonly string[]): string {
  const quotedExamples = examples.map((each) => `'${each}', `).join(' or ');
  return `${rule} (e.g. ${quotedExamples}regex used for validation is '${pattern}')`;
}
