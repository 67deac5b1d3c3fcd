/**
 * Loads the configuration from its sources in this order: defaults, file, drop-ins in lexical order, flags (upstream:
 * cmd/kubelet/app/server.go). Only reads and merges; the rules between fields are in validation/.
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
import { readConfigFile, type DecodingMode } from './read-config-file.ts';
import { kubeletConfiguration, type RawConfiguration } from './schema.ts';

export interface ConfigurationSources {
  /** The flag `--config`. Empty: no file. */
  readonly file: string;
  /** The flag `--config-dir`. Empty: no drop-ins. */
  readonly dropInDir: string;
  readonly decoding: DecodingMode;
  /** Overrides fields of a configuration with the command line's flags. */
  readonly applyFlags: <T extends RawConfiguration>(config: T) => T;
}

export interface LoadedConfiguration {
  readonly config: KubeletConfiguration;
  readonly featureGates: FeatureGates;
  readonly warnings: readonly FeatureGateWarning[];
  /** The fields that the file and the drop-ins set, as JSON, without defaults. */
  readonly explicit: unknown;
  /** Files of the drop-in folder that are not named `*.conf`. */
  readonly skippedFiles: readonly string[];
  /** What lenient decoding ignored, by file. */
  readonly ignored: readonly IgnoredPart[];
}

export interface IgnoredPart {
  readonly file: string;
  readonly warning: string;
}

/** Throws a ConfigurationError that names the file. */
export function loadConfiguration({ file, dropInDir, decoding, applyFlags }: ConfigurationSources): LoadedConfiguration {
  // A default may depend on a feature gate, so each layer is completed with the final gates.
  const complete = (raw: RawConfiguration): KubeletConfiguration =>
    applyDefaults(raw, computeFeatureGates(applyFlags(raw).featureGates).gates);
  const main: LoadedFile = file === '' ? { raw: legacyDefaults(), wire: {}, ignored: [] } : loadFile(file, decoding);
  let { raw, wire: explicit } = main;
  const ignored = [...main.ignored];
  let skippedFiles: readonly string[] = [];
  if (dropInDir !== '') {
    const { files, skipped } = findDropIns(dropInDir);
    const dropIns = files.map((path) => readDropIn(path, decoding));
    const patches = dropIns.map(({ wire }) => wire);
    ignored.push(...dropIns.flatMap((dropIn) => dropIn.ignored));
    raw = mergeDropIns(complete(raw), patches);
    explicit = patches.reduce(mergePatch, explicit);
    skippedFiles = skipped;
  }
  // Flags are applied after the defaults: a flag changes no default of another field.
  const config = applyFlags(complete(raw));
  const { gates, errors, warnings } = computeFeatureGates(config.featureGates);
  if (errors.length > 0) throw new ConfigurationError(`failed to set feature gates: ${errors.join(', ')}`);
  return { config, featureGates: gates, warnings, explicit, skippedFiles, ignored };
}

interface LoadedFile {
  readonly raw: RawConfiguration;
  readonly wire: unknown;
  readonly ignored: readonly IgnoredPart[];
}

function loadFile(path: string, decoding: DecodingMode): LoadedFile {
  const absolute = resolve(path);
  try {
    const { raw, wire, warnings } = readConfigFile(absolute, decoding);
    return {
      raw: resolvePaths({ ...raw, evictionHard: fileEvictionHard(raw) }, dirname(absolute)),
      wire,
      ignored: toIgnored(path, warnings),
    };
  } catch (err) {
    throw new ConfigurationError(`failed to load kubelet config file, path: ${path}, error: ${messageOf(err)}`, { cause: err });
  }
}

/** Resolves relative paths of the file against the file's folder. */
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

function readDropIn(path: string, decoding: DecodingMode): Pick<LoadedFile, 'wire' | 'ignored'> {
  try {
    const { wire, warnings } = readConfigFile(path, decoding);
    return { wire, ignored: toIgnored(path, warnings) };
  } catch (err) {
    throw new ConfigurationError(`failed to load kubelet dropin file, path: ${path}, error: ${messageOf(err)}`, { cause: err });
  }
}

function toIgnored(file: string, warnings: readonly string[]): IgnoredPart[] {
  return warnings.map((warning) => ({ file, warning }));
}

function mergeDropIns(base: KubeletConfiguration, patches: readonly unknown[]): RawConfiguration {
  const wire = patches.reduce(mergePatch, kubeletConfiguration.write(base));
  const problems: FieldProblem[] = [];
  const merged = kubeletConfiguration.read(wire, new FieldPath(problems));
  // The same codecs have accepted each part, so merging can't cause a problem.
  if (problems.length > 0) throw new Error('the drop-ins merged to a configuration that can’t be read');
  return { ...merged, evictionHard: merged.evictionHard ?? {} };
}

/** Finds every `*.conf` below a folder, in lexical order. Does not follow symlinks to folders. */
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
