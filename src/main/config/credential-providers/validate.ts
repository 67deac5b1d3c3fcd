/** Validates credential providers, with upstream's paths and messages (upstream validateCredentialProviderConfig). Pure. */
import { formatDuration } from '../../../shared/kubernetes/duration.ts';
import { labelKeyErrors } from '../../../shared/kubernetes/names.ts';
import { registryKey } from '../../../shared/registry-credentials/registry-match.ts';
import { duplicate, forbidden, invalid, notSupported, required } from '../../../shared/kubernetes/field-error.ts';
import type { RawCredentialProvider, RawTokenAttributes } from './schema.ts';

/** The only version whose requests have a token. */
const tokenVersion = 'credentialprovider.kubelet.k8s.io/v1';
/** The versions of requests to plugins. */
export const pluginVersions: readonly string[] = [
  tokenVersion,
  'credentialprovider.kubelet.k8s.io/v1alpha1',
  'credentialprovider.kubelet.k8s.io/v1beta1',
];
const cacheTypes: readonly string[] = ['ServiceAccount', 'Token'];

/** `allowsTokens`: the gate KubeletServiceAccountTokenForCredentialProviders. Returns one message per problem. */
export function validateProviders(providers: readonly RawCredentialProvider[], allowsTokens: boolean): string[] {
  if (providers.length === 0) return [required('providers', 'at least 1 item in plugins is required')];
  return providers.flatMap((provider) => [...validateProvider(provider), ...validateTokens(provider, allowsTokens)]);
}

function validateProvider({ name, apiVersion, matchImages, defaultCacheDuration }: RawCredentialProvider): string[] {
  const errors = [
    ...(name.includes('/') ? [invalid('providers.name', name, "provider name cannot contain '/'")] : []),
    ...(name.includes(' ') ? [invalid('providers.name', name, 'provider name cannot contain spaces')] : []),
    ...(name === '.' || name === '..' ? [invalid('providers.name', name, `provider name cannot be '${name}'`)] : []),
    // Upstream accepts an empty name and one with NUL, and fails when it looks for the plugin.
    ...(name === '' ? [required('providers.name')] : []),
    ...(name.includes('\0') ? [invalid('providers.name', name, 'provider name cannot contain NUL')] : []),
  ];
  if (apiVersion === '') errors.push(required('providers.apiVersion'));
  else if (!pluginVersions.includes(apiVersion)) errors.push(notSupported('providers.apiVersion', apiVersion, pluginVersions));
  if (matchImages.length === 0) errors.push(required('providers.matchImages', 'at least 1 item in matchImages is required'));
  for (const image of matchImages) {
    if (registryKey(image) === undefined)
      errors.push(invalid('providers.matchImages', image, `match image is invalid: parse "https://${image}": invalid host`));
  }
  if (defaultCacheDuration === null) errors.push(required('providers.defaultCacheDuration'));
  else if (defaultCacheDuration < 0)
    errors.push(invalid('providers.defaultCacheDuration', formatDuration(defaultCacheDuration), 'must be greater than or equal to 0'));
  return errors;
}

function validateTokens({ apiVersion, tokenAttributes: tokens }: RawCredentialProvider, allowsTokens: boolean): string[] {
  if (!tokens) return [];
  const path = 'providers.tokenAttributes';
  const gate = 'tokenAttributes is not supported when KubeletServiceAccountTokenForCredentialProviders feature gate is disabled';
  const { requireServiceAccount, requiredServiceAccountAnnotationKeys: requiredKeys } = tokens;
  const contradiction = 'requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set';
  return [
    ...(allowsTokens ? [] : [forbidden(path, gate)]),
    ...(tokens.serviceAccountTokenAudience === '' ? [required(`${path}.serviceAccountTokenAudience`)] : []),
    ...(requireServiceAccount === null ? [required(`${path}.requireServiceAccount`)] : []),
    ...(apiVersion === tokenVersion ? [] : [forbidden(path, `tokenAttributes is only supported for ${tokenVersion} API version`)]),
    ...(requireServiceAccount === false && requiredKeys.length > 0
      ? [forbidden(`${path}.requiredServiceAccountAnnotationKeys`, contradiction)]
      : []),
    ...validateAnnotationKeys(path, tokens),
    ...validateCacheType(path, tokens.cacheType),
  ];
}

function validateAnnotationKeys(path: string, tokens: RawTokenAttributes): string[] {
  const errors = (['requiredServiceAccountAnnotationKeys', 'optionalServiceAccountAnnotationKeys'] as const).flatMap((field) =>
    tokens[field].flatMap((key, index) => [
      // Like annotations themselves, keys are compared without case.
      ...labelKeyErrors(key.toLowerCase()).map((message) => invalid(`${path}.${field}`, key, message)),
      ...(tokens[field].indexOf(key) < index ? [duplicate(`${path}.${field}`, key)] : []),
    ]),
  );
  const both = new Set(tokens.requiredServiceAccountAnnotationKeys).intersection(new Set(tokens.optionalServiceAccountAnnotationKeys));
  if (both.size > 0) errors.push(invalid(path, [...both].sort(), 'annotation keys cannot be both required and optional'));
  return errors;
}

function validateCacheType(path: string, cacheType: string): string[] {
  if (cacheTypes.includes(cacheType)) return [];
  if (cacheType !== '') return [notSupported(`${path}.cacheType`, cacheType, cacheTypes)];
  const detail = `cacheType is required to be set when tokenAttributes is specified. Supported values are: ${cacheTypes.join(', ')}`;
  return [required(`${path}.cacheType`, detail)];
}
