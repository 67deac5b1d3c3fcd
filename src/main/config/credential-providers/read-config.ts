/** Reads the configuration of the credential providers: a file, or a folder of files (upstream readCredentialProviderConfig). */
import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { parseConfigDocument } from '../config-document.ts';
import { ConfigurationError } from '../configuration-error.ts';
import { isMap } from '../field-codecs.ts';
import { describeValue, FieldPath, type FieldProblem } from '../field-path.ts';
import { describeProblems, readConfigText } from '../read-config-file.ts';
import { configKind, configVersions, type RawCredentialProvider } from './schema.ts';

export interface ReadProviders {
  /** In the order of the files. The names are unique. */
  readonly providers: readonly RawCredentialProvider[];
  /** `sha256:…` of the files' contents, each after its length as 64 bits. */
  readonly hash: string;
}

const extensions: ReadonlySet<string> = new Set(['.json', '.yaml', '.yml']);

/** Throws a ConfigurationError that names the file. */
export function readProviders(path: string): ReadProviders {
  if (path === '') throw new ConfigurationError('credential provider config path is empty');
  const hash = createHash('sha256');
  const providers = new Map<string, RawCredentialProvider>();
  for (const file of configFiles(path)) {
    const content = attempt(`unable to read file ${goQuote(file)}`, () => readConfigText(file));
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(Buffer.byteLength(content)));
    hash.update(length).update(content);
    for (const provider of attempt(`error decoding config ${goQuote(file)}`, () => decode(content))) {
      if (providers.has(provider.name))
        throw new ConfigurationError(`duplicate provider name ${goQuote(provider.name)} found in configuration file(s)`);
      providers.set(provider.name, provider);
    }
  }
  return { providers: [...providers.values()], hash: `sha256:${hash.digest('hex')}` };
}

/** Returns the files in lexical order. */
function configFiles(path: string): string[] {
  const isFolder = attempt(`unable to access path ${goQuote(path)}`, () => statSync(path).isDirectory());
  if (!isFolder) return [path];
  const entries = attempt(`unable to read directory ${goQuote(path)}`, () => readdirSync(path, { withFileTypes: true }));
  const files = entries
    .filter((entry) => !entry.isDirectory() && extensions.has(extensionOf(entry.name)))
    .map(({ name }) => join(path, name));
  if (files.length === 0) throw new ConfigurationError(`no configuration files found in directory ${goQuote(path)}`);
  return files.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** Includes names that consist of the extension only, as Go's filepath.Ext does. */
function extensionOf(name: string): string {
  return name.startsWith('.') && !name.slice(1).includes('.') ? name : extname(name);
}

/** Parses a file. Throws a ConfigurationError with the line. */
export function decode(content: string): readonly RawCredentialProvider[] {
  const document = parseConfigDocument(content);
  if (!isMap(document.value)) throw new ConfigurationError(`must be a map of fields, got ${describeValue(document.value)}`);
  if (document.duplicates.length > 0) throw new ConfigurationError(document.duplicates.join(', '));
  const { apiVersion, kind, ...wire } = document.value;
  if (kind !== configKind) throw new ConfigurationError(`failed to decode ${describeValue(kind ?? '')} (wrong Kind)`);
  const codec = configVersions.get(String(apiVersion));
  if (!codec) throw new ConfigurationError(`no kind ${goQuote(configKind)} is registered for version ${describeValue(apiVersion ?? '')}`);
  const problems: FieldProblem[] = [];
  const { providers } = codec.read(wire, new FieldPath(problems));
  if (problems.length > 0) throw new ConfigurationError(describeProblems(problems, document));
  return providers;
}

function attempt<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (err) {
    throw new ConfigurationError(`${what}: ${messageOf(err)}`, { cause: err });
  }
}
