/** Compares the imports of a tree with its layers. Pure. */
import type { Import } from './find-imports.ts';
import type { LayeredTree } from './layers.ts';

export interface LayerReport {
  readonly problems: readonly string[];
  /** One line per layer: its share of the files, and how many arrows go to each lower layer. */
  readonly lines: readonly string[];
}

export function checkLayers(tree: LayeredTree, files: readonly string[], imports: readonly Import[]): LayerReport {
  const own = files.filter((file) => roomOf(tree, file) !== undefined);
  const layerOf = (room: string) => tree.layers.findIndex(({ rooms }) => rooms.includes(room));
  const problems = findTableProblems(tree, new Set(own.map((file) => roomOf(tree, file)!)));
  const arrows = tree.layers.map(() => new Map<number, number>());
  const used = new Set<string>();
  for (const { from, to } of imports) {
    const [fromRoom, toRoom] = [roomOf(tree, from), roomOf(tree, to)];
    if (fromRoom === undefined || toRoom === undefined || fromRoom === toRoom) continue;
    const [above, below] = [layerOf(fromRoom), layerOf(toRoom)];
    if (above < 0 || below < 0) continue;
    const exception = tree.exceptions.find((one) => one.from === fromRoom && one.to === toRoom);
    if (exception) used.add(`${fromRoom} ${toRoom}`);
    else if (below <= above) problems.push(describeArrow(tree, { from, to }, above, below));
    arrows[above]!.set(below, (arrows[above]!.get(below) ?? 0) + 1);
  }
  for (const { from, to, reason } of tree.exceptions) {
    if (!used.has(`${from} ${to}`)) problems.push(`${tree.root}: no file of ${from} imports from ${to}: remove the exception`);
    if (reason === '') problems.push(`${tree.root}: the exception from ${from} to ${to} has no reason`);
  }
  const counts = tree.layers.map((_, index) => own.filter((file) => layerOf(roomOf(tree, file)!) === index).length);
  for (const [index, { name }] of tree.layers.entries()) {
    if (counts[index]! > own.length * tree.maxShare)
      problems.push(`${tree.root}: the layer "${name}" has ${counts[index]} of ${own.length} files: split it`);
  }
  const lines = tree.layers.map(({ name }, index) => formatLayer(tree, name, counts[index]! / own.length, arrows[index]!));
  return { problems, lines };
}

/** Returns the folder or file directly below the tree's root, or undefined for files elsewhere. */
function roomOf({ root }: LayeredTree, file: string): string | undefined {
  return file.startsWith(`${root}/`) ? file.slice(root.length + 1).split('/')[0] : undefined;
}

function findTableProblems({ root, layers }: LayeredTree, existing: ReadonlySet<string>): string[] {
  const named = layers.flatMap(({ rooms }) => rooms);
  return [
    ...[...existing].filter((room) => !named.includes(room)).map((room) => `${root}/${room} is in no layer of scripts/imports/layers.ts`),
    ...named.filter((room) => !existing.has(room)).map((room) => `${root}/${room} is in a layer and does not exist`),
    ...named.filter((room, index) => named.indexOf(room) !== index).map((room) => `${root}/${room} is in two layers`),
  ];
}

function describeArrow({ layers }: LayeredTree, { from, to }: Import, above: number, below: number): string {
  if (above === below) return `${from}: imports ${to}, of another room in the layer "${layers[above]!.name}"`;
  return `${from}: imports ${to} upwards: the layer "${layers[below]!.name}" is above "${layers[above]!.name}"`;
}

function formatLayer({ root, layers }: LayeredTree, name: string, share: number, arrows: ReadonlyMap<number, number>): string {
  const targets = [...arrows].sort(([a], [b]) => a - b).map(([layer, count]) => `${layers[layer]!.name} ${count}`);
  return `${root}: ${name} (${Math.round(share * 100)}% of files) → ${targets.join(', ') || 'nothing'}`;
}
