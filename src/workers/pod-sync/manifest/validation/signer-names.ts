/** Validates names of certificate signers and of their trust bundles (upstream pkg/apis/core/validation/names.go). */
import { dns1123LabelErrors, dns1123SubdomainErrors, maxLabelLength, maxSubdomainLength } from '../../../../shared/kubernetes/names.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';
import { invalid, required, tooLong } from '../../../../shared/kubernetes/field-error.ts';

/** The domain is reserved for the Kubernetes project. */
export function isKubernetesSigner(signerName: string): boolean {
  const host = signerName.split('/')[0] ?? '';
  return host === 'kubernetes.io' || host.endsWith('.kubernetes.io');
}

/** The form is `example.com/signer-name`: a domain of at least two labels and a path of subdomains. */
export function validateSignerName(signerName: string, path: string, errors: string[]): void {
  if (signerName === '') return void errors.push(required(path));
  const [domain = '', rest = '', ...more] = signerName.split('/');
  if (!signerName.includes('/') || more.length > 0) {
    const detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return void errors.push(invalid(path, signerName, detail));
  }
  if (domain.length > maxSubdomainLength) errors.push(tooLong(path, maxSubdomainLength));
  checkParts(domain, dns1123LabelErrors, path, errors);
  if (!domain.includes('.')) errors.push(invalid(path, domain, 'should be a domain with at least two segments separated by dots'));
  checkParts(rest, dns1123SubdomainErrors, path, errors);
  // After the domain and its slash, the limit leaves room for a namespace, a dot and an object's name.
  const maxLength = maxSubdomainLength + 1 + maxLabelLength + 1 + maxSubdomainLength;
  if (signerName.length > maxLength) errors.push(tooLong(path, maxLength));
}

/** Reports only the first invalid part. */
function checkParts(value: string, partErrors: (part: string) => string[], path: string, errors: string[]): void {
  for (const part of value.split('.')) {
    const problems = partErrors(part);
    for (const each of problems) errors.push(invalid(path, value, `validating label ${goQuote(part)}: ${each}`));
    if (problems.length > 0) return;
  }
}

/** The bundle of a signer is named `<signer with colons instead of slashes>:<name>`. Other bundle names contain no colon. */
export function trustBundleNameErrors(name: string): string[] {
  return dns1123SubdomainErrors(name.slice(name.lastIndexOf(':') + 1));
}
