/**
 * The configuration from all its sources: defaults, then the file, then the drop-ins in lexical order, then the flags
 * (upstream: cmd/kubelet/app/server.go). Reads files; decides nothing about them.
 */
import { readdirSync, type Dirent } from 'node:fs';
import { dirname, extname, isAbsolute, join, resolve } from 'node:path';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { ConfigurationError } from './configuration-error.ts';
import { applyDefaults, fileEvictionHard, legacyDefaults } from './defaults.ts';
import { computeFeatureGates, type FeatureGates, type FeatureGateWarning } from './feature-gates.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import { mergePatch } from './merge-patch.ts';
import { FieldPath, type FieldProblem } from './field-path.ts';
import { readConfigFile } from './read-config-file.ts';
import { kubeletConfiguration, type RawConfiguration } from './schema.ts';

export interface ConfigurationSources {
  /** `--config`; empty: none. */
  readonly file: string;
  /** `--config-dir`; empty: none. */
  readonly dropInDir: string;
  /** Lays the command line's flags over a configuration. */
  readonly applyFlags: <T extends RawConfiguration>(config: T) => T;
}

export interface LoadedConfiguration {
  readonly config: KubeletConfiguration;
  readonly featureGates: FeatureGates;
  readonly warnings: readonly FeatureGateWarning[];
  /** What file and drop-ins say, without defaults, in the form on the wire. */
  readonly explicit: unknown;
  /** In the drop-in folder, but not named `*.conf`. */
  readonly skippedFiles: readonly string[];
}

/** Throws ConfigurationError, which names the file. Rules between fields are checked by `validateConfiguration`. */
export function loadConfiguration({ file, dropInDir, applyFlags }: ConfigurationSources): LoadedConfiguration {
  // A default may hang on a gate, so each layer is completed under the gates that will hold in the end.
  const complete = (raw: RawConfiguration): KubeletConfiguration =>
    applyDefaults(raw, computeFeatureGates(applyFlags(raw).featureGates).gates);
  let { raw, wire: explicit } = file === '' ? { raw: legacyDefaults(), wire: {} as unknown } : loadFile(file);
  let skippedFiles: readonly string[] = [];
  if (dropInDir !== '') {
    const { files, skipped } = findDropIns(dropInDir);
    const patches = files.map(readDropIn);
    raw = mergeDropIns(complete(raw), patches);
    explicit = patches.reduce(mergePatch, explicit);
    skippedFiles = skipped;
  }
  // Flags come after the defaults: one that is set moves no default of another field.
  const config = applyFlags(complete(raw));
  const { gates, errors, warnings } = computeFeatureGates(config.featureGates);
  if (errors.length > 0) throw new ConfigurationError(`failed to set feature gates: ${errors.join(', ')}`);
  return { config, featureGates: gates, warnings, explicit, skippedFiles };
}

function loadFile(path: string): { raw: RawConfiguration; wire: unknown } {
  const absolute = resolve(path);
  try {
    const { raw, wire } = readConfigFile(absolute);
    return { raw: resolvePaths({ ...raw, evictionHard: fileEvictionHard(raw) }, dirname(absolute)), wire };
  } catch (err) {
    throw new ConfigurationError(`failed to load kubelet config file, path: ${path}, error: ${messageOf(err)}`, { cause: err });
  }
}

/** Paths in the file are relative to its folder. */
function resolvePaths(raw: RawConfiguration, folder: string): RawConfiguration {
  const absolute = (path: string): string => (path === '' || isAbsolute(path) ? path : join(folder, path));
  const { x509 } = raw.authentication;
  return {
    ...raw,
    staticPodPath: absolute(raw.staticPodPath),
    tlsCertFile: absolute(raw.tlsCertFile),
    tlsPrivateKeyFile: absolute(raw.tlsPrivateKeyFile),
    resolvConf: absolute(raw.resolvConf),
    volumePluginDir: absolute(raw.volumePluginDir),
    podLogsDir: absolute(raw.podLogsDir),
    authentication: { ...raw.authentication, x509: { clientCAFile: absolute(x509.clientCAFile) } },
  };
}

function readDropIn(path: string): unknown {
  try {
    return readConfigFile(path).wire;
  } catch (err) {
    throw new ConfigurationError(`failed to load kubelet dropin file, path: ${path}, error: ${messageOf(err)}`, { cause: err });
  }
}

function mergeDropIns(base: KubeletConfiguration, patches: readonly unknown[]): RawConfiguration {
  const wire = patches.reduce(mergePatch, kubeletConfiguration.write(base));
  const problems: FieldProblem[] = [];
  const merged = kubeletConfiguration.read(wire, new FieldPath(problems));
  // Each part was read before with the same codecs, so nothing can be wrong with them all together.
  if (problems.length > 0) throw new Error('the drop-ins merged to a configuration that can’t be read');
  return { ...merged, evictionHard: merged.evictionHard ?? {} };
}

/** Every `*.conf` below a folder, in the order of a walk by name; links to folders are not followed. */
function findDropIns(root: string): { files: string[]; skipped: string[] } {
  const files: string[] = [];
  const skipped: string[] = [];
  const walk = (folder: string): void => {
    for (const entry of entriesByName(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) walk(path);
      else (extname(entry.name) === '.conf' || entry.name === '.conf' ? files : skipped).push(path);
    }
  };
  try {
    walk(resolve(root));
  } catch (err) {
    throw new ConfigurationError(`failed to walk through kubelet dropin directory "${root}": ${messageOf(err)}`, { cause: err });
  }
  return { files, skipped };
}

function entriesByName(folder: string): Dirent[] {
  return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
}
