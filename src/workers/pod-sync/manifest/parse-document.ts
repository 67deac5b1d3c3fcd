/**
 * Parses the bytes of a manifest into plain values. Rejects input that could exhaust the thread: binary data, unbounded alias expansion,
 * and excessive nesting or fan-out. Like upstream's sigs.k8s.io/yaml, it reads the first document, and the last of two equal keys wins.
 */
import { Composer, isAlias, isNode, Lexer, Parser, visit, type Document } from 'yaml';
import { decodeYamlText } from '../../../shared/container-logs/yaml-text.ts';
import { goYamlOptions, mapKeyProblem } from '../../../shared/kubernetes/yaml-schema.ts';

export class ManifestSyntaxError extends Error {
  override readonly name = 'ManifestSyntaxError';
}

/**
 * The parser allocates about 1 KB per token, and a thread out of memory aborts all its pod syncs. The largest known pods have some ten
 * thousand tokens; the text of one scalar is one token.
 */
const maxTokens = 200_000;
/** The limit per anchor, and the limit per document. */
const maxAliases = 1000;

/** Returns the value of the first document. Throws ManifestSyntaxError. */
export function parseDocument(content: Uint8Array, limit = maxTokens): unknown {
  const source = decodeText(content);
  if (/^\s*\{/.test(source)) {
    try {
      return JSON.parse(source) as unknown;
    } catch {
      // YAML's flow style starts like JSON. For text that is neither, the YAML error has the position.
    }
  }
  return parseYaml(source, limit);
}

function decodeText(content: Uint8Array): string {
  let source: string;
  try {
    source = decodeYamlText(content);
  } catch {
    throw new ManifestSyntaxError('not text: the bytes are not UTF-8');
  }
  // oxlint-disable-next-line no-control-regex
  const control = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.exec(source);
  if (control) throw new ManifestSyntaxError(atLine(source, control.index, 'control characters are not allowed'));
  return source;
}

function parseYaml(source: string, limit: number): unknown {
  checkSize(source, limit);
  try {
    const composer = new Composer(goYamlOptions);
    const [document] = composer.compose(new Parser().parse(source), true, source.length);
    if (!document) return null;
    const [error] = document.errors;
    if (error) throw new ManifestSyntaxError(atLine(source, error.pos[0], error.message));
    checkNodes(document, source);
    return document.toJS({ maxAliasCount: maxAliases });
  } catch (err) {
    throw toSyntaxError(err);
  }
}

/** Skips the tokenizer for short texts, because most manifests are read once. */
function checkSize(source: string, limit: number): void {
  // A character yields at most two tokens: a marker precedes each scalar.
  if (source.length < limit / 2) return;
  let tokens = 0;
  for (const _ of new Lexer().lex(source)) {
    tokens += 1;
    if (tokens > limit) throw new ManifestSyntaxError(`more than ${limit} YAML tokens, which no pod needs`);
  }
}

/** Rejects aliases inside their own anchor, whose expansion would not end, and keys that JSON does not have. */
function checkNodes(document: Document, source: string): void {
  let aliases = 0;
  visit(document, {
    Pair: (_, { key }) => {
      // A key may be an alias. The node that it stands for is checked where it is anchored.
      const problem = isAlias(key) ? undefined : mapKeyProblem(key);
      const offset = isNode(key) ? (key.range?.[0] ?? 0) : 0;
      if (problem !== undefined) throw new ManifestSyntaxError(atLine(source, offset, problem));
    },
    Alias: (_, alias, ancestors) => {
      aliases += 1;
      if (aliases > maxAliases) throw new ManifestSyntaxError(`more than ${maxAliases} YAML aliases, which no pod needs`);
      const isRecursive = ancestors.some((node) => !isAlias(node) && 'anchor' in node && node.anchor === alias.source);
      if (isRecursive) throw new ManifestSyntaxError(`anchor '${alias.source}' value contains itself`);
    },
  });
}

function atLine(source: string, offset: number, message: string): string {
  const reason = message.startsWith('Maximum call stack') ? 'nested too deeply' : message.split('\n')[0];
  return `line ${source.slice(0, offset).split('\n').length}: ${reason}`;
}

function toSyntaxError(err: unknown): ManifestSyntaxError {
  if (err instanceof ManifestSyntaxError) return err;
  if (err instanceof RangeError) return new ManifestSyntaxError('nested too deeply');
  return new ManifestSyntaxError(err instanceof Error ? (err.message.split('\n')[0] ?? '') : String(err), { cause: err });
}
