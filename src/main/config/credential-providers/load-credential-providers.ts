/**
 * The configuration of the plugins for image credentials (`--image-credential-provider-config`, `--image-credential-provider-bin-dir`).
 * The command line loads it once, before any part of the kubelet starts; the images thread runs the plugins. Upstream:
 * pkg/credentialprovider/plugin, RegisterCredentialProviderPlugins.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CredentialProvider } from '../../../shared/contracts/credential-providers.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { ConfigurationError } from '../configuration-error.ts';
import { readProviders } from './read-config.ts';
import type { RawCredentialProvider } from './schema.ts';
import { validateProviders } from './validate.ts';

export interface CredentialProviders {
  readonly providers: readonly CredentialProvider[];
  /** Null: none is configured. */
  readonly configHash: string | null;
}

/** Throws a ConfigurationError. `allowsTokens`: the gate KubeletServiceAccountTokenForCredentialProviders. */
export function loadCredentialProviders(configPath: string, binDir: string, allowsTokens: boolean): CredentialProviders {
  if (configPath === '' && binDir === '') return { providers: [], configHash: null };
  try {
    checkBinDir(binDir);
    const { providers, hash } = readProviders(configPath);
    const errors = validateProviders(providers, allowsTokens);
    if (errors.length > 0) {
      const list = errors.length === 1 ? errors.join('') : `[${errors.join(', ')}]`;
      throw new ConfigurationError(`failed to validate credential provider config: ${list}`);
    }
    return { providers: providers.map((provider) => toCredentialProvider(provider, binDir)), configHash: hash };
  } catch (err) {
    throw new ConfigurationError(`Failed to register CRI auth plugins: ${messageOf(err)}`, { cause: err });
  }
}

function checkBinDir(binDir: string): void {
  try {
    statSync(binDir);
  } catch (err) {
    if (isMissing(err)) throw new ConfigurationError(`plugin binary directory ${binDir} did not exist`);
    throw new ConfigurationError(`error inspecting binary directory ${binDir}: ${messageOf(err)}`, { cause: err });
  }
}

function toCredentialProvider(raw: RawCredentialProvider, binDir: string): CredentialProvider {
  const { name, apiVersion, matchImages, defaultCacheDuration, args, env, tokenAttributes } = raw;
  const command = join(binDir, name);
  checkExecutable(command);
  return {
    name,
    command,
    apiVersion,
    matchImages,
    defaultCacheDurationMs: defaultCacheDuration ?? 0,
    args,
    env: Object.fromEntries(env.map((variable) => [variable.name, variable.value])),
    tokens: tokenAttributes && {
      audience: tokenAttributes.serviceAccountTokenAudience,
      cacheType: tokenAttributes.cacheType as 'ServiceAccount' | 'Token',
      requireServiceAccount: tokenAttributes.requireServiceAccount ?? false,
      requiredAnnotations: tokenAttributes.requiredServiceAccountAnnotationKeys,
      optionalAnnotations: tokenAttributes.optionalServiceAccountAnnotationKeys,
    },
  };
}

function checkExecutable(path: string): void {
  try {
    if (statSync(path).isDirectory()) throw new Error('is a directory');
    accessSync(path, constants.X_OK);
  } catch (err) {
    if (isMissing(err)) throw new ConfigurationError(`plugin binary executable ${path} did not exist`);
    throw new ConfigurationError(`error inspecting binary executable ${path}: ${messageOf(err)}`, { cause: err });
  }
}

function isMissing(err: unknown): boolean {
  return (err as NodeJS.ErrnoException).code === 'ENOENT';
}
