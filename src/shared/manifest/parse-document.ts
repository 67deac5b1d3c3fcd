/**
 * A manifest's bytes as plain values, with every way to hurt a thread closed: what is no text, what expands without end, what nests
 * or fans out beyond anything a pod needs. Upstream: sigs.k8s.io/yaml, which reads the first document and lets the last of two equal
 * keys win.
 */
import { Composer, isAlias, Lexer, Parser, visit, type Document } from 'yaml';
import { goYamlTags } from './yaml-schema.ts';

export class ManifestSyntaxError extends Error {
  override readonly name = 'ManifestSyntaxError';
}

/**
 * What the parser builds for a token costs about 1 KB, and a thread that runs out of memory takes all its pods' syncs with it. The
 * largest pods seen have some ten thousand tokens; text within one scalar is one token.
 */
const maxTokens = 200_000;
/** Of one anchor, and in all. */
const maxAliases = 1000;

/** The first document's value. Throws ManifestSyntaxError. */
export function parseDocument(content: Uint8Array, limit = maxTokens): unknown {
  const source = decodeText(content);
  if (/^\s*\{/.test(source)) {
    try {
      return JSON.parse(source) as unknown;
    } catch {
      // YAML's flow style starts like JSON; if it is neither, YAML's error says where.
    }
  }
  return parseYaml(source, limit);
}

function decodeText(content: Uint8Array): string {
  let source: string;
  try {
    source = new TextDecoder('utf-8', { fatal: true }).decode(content);
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
    const composer = new Composer({
      schema: 'failsafe',
      customTags: (tags) => [...tags, ...goYamlTags],
      merge: true,
      uniqueKeys: false,
      logLevel: 'silent',
    });
    const [document] = composer.compose(new Parser().parse(source), true, source.length);
    if (!document) return null;
    const [error] = document.errors;
    if (error) throw new ManifestSyntaxError(atLine(source, error.pos[0], error.message));
    checkAliases(document);
    return document.toJS({ maxAliasCount: maxAliases });
  } catch (err) {
    throw toSyntaxError(err);
  }
}

/** A short text has few tokens: most manifests are read once. */
function checkSize(source: string, limit: number): void {
  // A character makes two at most: a scalar's comes with a mark before it.
  if (source.length < limit / 2) return;
  let tokens = 0;
  for (const _ of new Lexer().lex(source)) {
    tokens += 1;
    if (tokens > limit) throw new ManifestSyntaxError(`more than ${limit} YAML tokens, which no pod needs`);
  }
}

/** An alias that stands inside what it names would never end. */
function checkAliases(document: Document): void {
  let aliases = 0;
  visit(document, {
    Alias: (_, alias, ancestors) => {
      aliases += 1;
      if (aliases > maxAliases) throw new ManifestSyntaxError(`more than ${maxAliases} YAML aliases, which no pod needs`);
      const anchored = ancestors.some((node) => !isAlias(node) && 'anchor' in node && node.anchor === alias.source);
      if (anchored) throw new ManifestSyntaxError(`anchor '${alias.source}' value contains itself`);
    },
  });
}

function atLine(source: string, offset: number, message: string): string {
  const plain = message.startsWith('Maximum call stack') ? 'nested too deeply' : message.split('\n')[0];
  return `line ${source.slice(0, offset).split('\n').length}: ${plain}`;
}

function toSyntaxError(err: unknown): ManifestSyntaxError {
  if (err instanceof ManifestSyntaxError) return err;
  if (err instanceof RangeError) return new ManifestSyntaxError('nested too deeply');
  return new ManifestSyntaxError(err instanceof Error ? (err.message.split('\n')[0] ?? '') : String(err), { cause: err });
}
