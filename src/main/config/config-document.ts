/**
 * Parses the text of a configuration file to plain data, and keeps the line of every field for messages. Files may be hostile: the result
 * has no cycles and no exploding aliases, and every failure is a ConfigurationError.
 */
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments, type Document, type Node, type Pair } from 'yaml';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { goQuote } from '../../shared/kubernetes/go-text.ts';
import { goYamlOptions, mapKeyProblem } from '../../shared/kubernetes/yaml-schema.ts';
import { ConfigurationError } from './configuration-error.ts';
import { formatFieldPath } from './field-path.ts';

type Path = readonly (string | number)[];

export interface ConfigDocument {
  readonly value: unknown;
  /** Returns the line (from 1) of a field or list item, or of its nearest existing parent. */
  lineOf(path: Path): number;
  /** One message, with the line, for each field whose name occurs earlier in the same map. `value` has the last occurrence. */
  readonly duplicates: readonly string[];
  /** A sentence when more documents follow. Only the first one is read, as upstream does. */
  readonly furtherDocuments: readonly string[];
}

/** Limits the nodes that aliases may copy. A file of ten lines could otherwise expand to billions. */
const maxAliasCount = 100;

/** Parses YAML as Go's library does (`yes` is true), or JSON. Throws a ConfigurationError with the line. */
export function parseConfigDocument(text: string): ConfigDocument {
  const lines = new LineCounter();
  const lineAt = (offset: number): number => Math.max(lines.linePos(offset).line, 1);
  try {
    const parsed = parseAllDocuments(text, { ...goYamlOptions, prettyErrors: false, lineCounter: lines });
    const documents = Array.isArray(parsed) ? parsed.filter((each) => each.contents !== null || each.errors.length > 0) : [];
    const [document, second] = documents;
    if (!document) return { value: null, lineOf: () => 1, duplicates: [], furtherDocuments: [] };
    const [error] = document.errors;
    if (error) throw new ConfigurationError(`line ${lineAt(error.pos[0])}: ${error.message.replaceAll(/\s+/g, ' ')}`);
    const duplicates = findDuplicates(document, lineAt);
    return {
      value: document.toJS({ maxAliasCount }),
      lineOf: (path) => lineAt(offsetOf(document, path)),
      duplicates,
      furtherDocuments: second ? [`line ${lineAt(second.range[0])}: a second document begins, and only the first one is read`] : [],
    };
  } catch (err) {
    if (err instanceof ConfigurationError) throw err;
    // The nesting exceeds the stack, or aliases exceed their limit.
    throw new ConfigurationError(`can't be read: ${err instanceof RangeError ? 'nested too deeply' : messageOf(err)}`);
  }
}

function findDuplicates(document: Document.Parsed, lineAt: (offset: number) => number): string[] {
  const problems: string[] = [];
  const walk = (node: unknown, path: Path): void => {
    if (isSeq(node)) node.items.forEach((item, index) => walk(item, [...path, index]));
    if (!isMap(node)) return;
    const names = new Set<string>();
    for (const { key, value } of node.items) {
      const problem = isAlias(key) ? undefined : mapKeyProblem(key);
      if (problem !== undefined) throw new ConfigurationError(`line ${lineAt(startOffset(key))}: ${problem}`);
      const fieldPath = [...path, keyOf(key)];
      if (names.has(keyOf(key))) problems.push(`line ${lineAt(startOffset(key))}: duplicate field ${goQuote(formatFieldPath(fieldPath))}`);
      names.add(keyOf(key));
      walk(value, fieldPath);
    }
  };
  walk(document.contents, []);
  return problems;
}

function offsetOf(document: Document.Parsed, path: Path): number {
  let node: Node | null | undefined = document.contents;
  let offset = startOffset(node);
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isSeq(node)) {
      node = node.items[Number(step)] as Node | undefined;
      offset = node ? startOffset(node) : offset;
    } else if (isMap(node)) {
      const pair: Pair | undefined = node.items.find((each) => keyOf(each.key) === step);
      offset = pair ? startOffset(pair.key) : offset;
      node = pair?.value as Node | null | undefined;
    } else break;
  }
  return offset;
}

function keyOf(key: unknown): string {
  return String(isScalar(key) ? key.value : key);
}

function startOffset(node: unknown): number {
  return (node as Node | null | undefined)?.range?.[0] ?? 0;
}
