/**
 * Reads a KubeletConfiguration file or drop-in and reports every unknown field, duplicate field and wrong type (upstream:
 * pkg/kubelet/kubeletconfig/util/codec).
 */
import { constants, openSync, closeSync, fstatSync, readSync } from 'node:fs';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { goQuote } from '../../shared/kubernetes/go-text.ts';
import { decodeYamlText } from '../../shared/container-logs/yaml-text.ts';
import { isMap, unknownField } from './field-codecs.ts';
import { parseConfigDocument, type ConfigDocument } from './config-document.ts';
import { ConfigurationError } from './configuration-error.ts';
import { describeValue, formatFieldPath, FieldPath, type FieldProblem } from './field-path.ts';
import { apiVersion, kind, kubeletConfiguration, type RawConfiguration } from './schema.ts';

export interface ConfigFile {
  /** The fields that the file sets, as JSON, without apiVersion and kind. */
  readonly wire: Readonly<Record<string, unknown>>;
  /** The same fields with the defaults of the missing ones. */
  readonly raw: RawConfiguration;
  /** One text for each part of the file that is ignored, with the line. */
  readonly warnings: readonly string[];
}

/** `lenient`: unknown and duplicate fields are ignored with a warning. `strict`: they are errors. Wrong types always are. */
export type DecodingMode = 'lenient' | 'strict';

/** All fields of v1beta1 with long values have about 20 KiB. */
const maxFileBytes = 1024 * 1024;

/** Throws a ConfigurationError. The caller adds the name of the file. */
export function readConfigFile(path: string, decoding: DecodingMode): ConfigFile {
  return parseConfigFile(readConfigText(path), decoding);
}

/** Parses the text of a file. Throws a ConfigurationError. */
export function parseConfigFile(text: string, decoding: DecodingMode): ConfigFile {
  const document = parseConfigDocument(text);
  if (!isMap(document.value)) throw new ConfigurationError(`must be a map of fields, got ${describeValue(document.value)}`);
  const { apiVersion: givenVersion, kind: givenKind, ...wire } = document.value;
  const problems: FieldProblem[] = [];
  const root = new FieldPath(problems);
  expect(root.child('apiVersion'), givenVersion, apiVersion);
  expect(root.child('kind'), givenKind, kind);
  // Another kind has other fields. Reporting them all would hide the actual problem.
  if (problems.length > 0) throw new ConfigurationError(describeProblems(problems, document));
  const raw = kubeletConfiguration.read(wire, root);
  const unknown = problems.filter(({ message }) => message === unknownField);
  const isLenient = decoding === 'lenient';
  if (problems.length > (isLenient ? unknown.length : 0)) throw new ConfigurationError(describeProblems(problems, document));
  if (!isLenient && document.duplicates.length > 0) throw new ConfigurationError(document.duplicates.join(', '));
  const paths = unknown.map(({ path }) => path);
  const warnings = [...placeProblems(unknown, document), ...document.duplicates, ...document.furtherDocuments];
  return { wire: withoutFields(wire, paths), raw, warnings };
}

function withoutFields(wire: Readonly<Record<string, unknown>>, paths: readonly FieldProblem['path'][]): Record<string, unknown> {
  const copy = structuredClone(wire);
  for (const path of paths) {
    const parent = path.slice(0, -1).reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], copy);
    Reflect.deleteProperty(parent as object, path.at(-1)!);
  }
  return copy;
}

function expect(fieldPath: FieldPath, actual: unknown, expected: string): void {
  if (actual === undefined || actual === null) fieldPath.addProblem(`is missing, must be ${goQuote(expected)}`);
  else if (actual !== expected) fieldPath.addProblem(`must be ${goQuote(expected)}, got ${describeValue(actual)}`);
}

/** Formats all problems on one line, in the order of the file. */
export function describeProblems(problems: readonly FieldProblem[], document: ConfigDocument): string {
  return `strict decoding error: ${placeProblems(problems, document).join(', ')}`;
}

function placeProblems(problems: readonly FieldProblem[], document: ConfigDocument): string[] {
  const placed = problems.map(({ path, message }) => ({ line: document.lineOf(path), name: formatFieldPath(path), message }));
  return placed
    .sort((a, b) => a.line - b.line)
    .map(({ line, name, message }) => `line ${line}: ${message === unknownField ? `${message} ${goQuote(name)}` : `${name} ${message}`}`);
}

/** Reads a regular file of bounded size as UTF-8. Throws a ConfigurationError without the file's name. */
export function readConfigText(path: string): string {
  try {
    // Does not wait for the writer of a FIFO.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!fstatSync(fd).isFile()) throw new ConfigurationError('is not a regular file');
      const bytes = Buffer.alloc(maxFileBytes + 1);
      let length = 0;
      for (let bytesRead = -1; bytesRead !== 0 && length < bytes.length; length += bytesRead)
        bytesRead = readSync(fd, bytes, length, bytes.length - length, null);
      if (length > maxFileBytes) throw new ConfigurationError(`is larger than ${maxFileBytes} bytes`);
      if (length === 0) throw new ConfigurationError('is empty');
      return decode(bytes.subarray(0, length));
    } finally {
      closeSync(fd);
    }
  } catch (err) {
    throw err instanceof ConfigurationError ? err : new ConfigurationError(messageOf(err));
  }
}

function decode(bytes: Buffer): string {
  try {
    return decodeYamlText(bytes);
  } catch {
    throw new ConfigurationError('is not text in UTF-8');
  }
}
