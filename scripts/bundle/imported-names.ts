/**
 * Finds in a module's syntax tree what a bundler does not check: the names that are used of dynamic imports, the files that are named relative to the
 * module's URL, and templates whose text may be used raw.
 */
import type { ESTree } from 'rolldown/utils';

export interface DynamicImport {
  /** Null when the source is not a literal. */
  readonly source: string | null;
  /** Null when the names can not be determined. */
  readonly names: readonly string[] | null;
}

type Node = ESTree.Node;

/** Supports `(await import('x')).name`, `const { name } = await import('x')`, and `const x = await import('x')` with only `x.name`. */
export function findDynamicImports(program: ESTree.Program): readonly DynamicImport[] {
  const parents = parentsOf(program);
  return [...parents.keys()].flatMap((node) => {
    if (node.type !== 'ImportExpression') return [];
    const source = node.source.type === 'Literal' && typeof node.source.value === 'string' ? node.source.value : null;
    return [{ source, names: namesUsed(node, parents) }];
  });
}

/** Returns the paths in `new URL(path, import.meta.url)`. Null stands for a part that is only known at run time. */
export function findRelativeURLs(program: ESTree.Program): readonly (readonly (string | null)[])[] {
  return [...parentsOf(program).keys()].flatMap((node) => {
    if (node.type !== 'NewExpression' || node.callee.type !== 'Identifier' || node.callee.name !== 'URL') return [];
    const [path, base] = node.arguments;
    if (base?.type !== 'MemberExpression' || base.object.type !== 'MetaProperty' || path === undefined) return [];
    if (path.type === 'Literal' && typeof path.value === 'string') return [[path.value]];
    if (path.type !== 'TemplateLiteral') return [[null]];
    return [path.quasis.flatMap(({ value }, i) => (i === 0 ? [value.cooked ?? ''] : [null, value.cooked ?? '']))];
  });
}

export function findTaggedTemplates(program: ESTree.Program): readonly ESTree.TaggedTemplateExpression[] {
  return [...parentsOf(program).keys()].filter((node) => node.type === 'TaggedTemplateExpression');
}

/** Maps each node of the tree to its parent. */
function parentsOf(program: ESTree.Program): ReadonlyMap<Node, Node | undefined> {
  const parents = new Map<Node, Node | undefined>();
  const add = (value: unknown, parent: Node | undefined): void => {
    if (Array.isArray(value)) for (const each of value) add(each, parent);
    else if (typeof value === 'object' && value !== null && 'type' in value) {
      parents.set(value as Node, parent);
      for (const [key, each] of Object.entries(value)) if (key !== 'parent') add(each, value as Node);
    }
  };
  add(program, undefined);
  return parents;
}

function namesUsed(node: Node, parents: ReadonlyMap<Node, Node | undefined>): readonly string[] | null {
  const awaited = parents.get(node);
  if (awaited?.type !== 'AwaitExpression') return null;
  const enclosing = parents.get(awaited);
  const user = enclosing?.type === 'ParenthesizedExpression' ? parents.get(enclosing) : enclosing;
  if (user?.type === 'MemberExpression') return memberName(user);
  if (user?.type !== 'VariableDeclarator') return null;
  if (user.id.type === 'ObjectPattern') return patternNames(user.id);
  return user.id.type === 'Identifier' ? namesOfNamespace(user.id, parents) : null;
}

function memberName(node: ESTree.MemberExpression): readonly string[] | null {
  return !node.computed && node.property.type === 'Identifier' ? [node.property.name] : null;
}

function patternNames({ properties }: ESTree.ObjectPattern): readonly string[] | null {
  const names = properties.map((property) =>
    property.type === 'Property' && !property.computed && property.key.type === 'Identifier' ? property.key.name : null,
  );
  return names.every((name) => name !== null) ? names : null;
}

/** Matches the variable by name in the whole file. A second variable of this name can only make the check stricter. */
function namesOfNamespace(declared: ESTree.BindingIdentifier, parents: ReadonlyMap<Node, Node | undefined>): readonly string[] | null {
  const names: string[] = [];
  for (const [node, parent] of parents) {
    if (node.type !== 'Identifier' || node.name !== declared.name || node === declared) continue;
    const used = parent?.type === 'MemberExpression' && parent.object === node ? memberName(parent) : null;
    if (used === null) return null;
    names.push(...used);
  }
  return names;
}
