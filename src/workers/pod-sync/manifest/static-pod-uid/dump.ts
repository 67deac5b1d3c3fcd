/**
 * Prints Go values byte for byte as upstream's hashes see them: the `%#v` of go-spew in the configuration of k8s.io/utils/dump (with
 * types, without method calls and addresses, with sorted map keys).
 */
import type { GoField, GoStruct, GoValue } from './go-type.ts';
import { goType } from './lookup-go-type.ts';

/** The length of a piece that `write` receives. A dump may be a hundred times longer than the manifest. */
const pieceLength = 1 << 16;

/** Prints a pointer to a value of the type. `write` receives the text in pieces, in order. */
export function dumpPointer(type: string, value: GoStruct, write: (text: string) => void): void {
  const dump = new Dump(write);
  dump.print(`*${type}`, value, 'typed');
  dump.flush();
}

/** `typed`: the type's name is printed before the value. */
type Typing = 'typed' | 'plain';

/** The cached dump of a struct without set fields. Most of a pod consists of zero values. */
interface ZeroForm {
  readonly text: string;
  /** The depth of the first pointer below the struct. */
  readonly pointerDepth: number;
}
const zeroForms = new Map<string, ZeroForm>();

class Dump {
  readonly #write: (text: string) => void;
  #text = '';
  #depth = 0;
  /** The pointers above the current position. go-spew prints a pointer to one of their values as already seen. */
  readonly #followed: { readonly value: GoValue; readonly depth: number }[] = [];
  /** The smallest depth at which this dump has printed a pointer, for ZeroForm. */
  #pointerDepth = Infinity;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  flush(): void {
    this.#write(this.#text);
    this.#text = '';
  }

  print(name: string, value: GoValue, typing: Typing): void {
    const type = goType(name);
    if (typing === 'typed' && type.kind !== 'pointer') this.#text += `(${name})`;
    if (this.#text.length > pieceLength) this.flush();
    switch (type.kind) {
      case 'string':
        this.#text += (value ?? '') as string;
        return;
      case 'bool':
        this.#text += value === true ? 'true' : 'false';
        return;
      case 'number':
        this.#text += `${(value ?? 0) as number | bigint}`;
        return;
      case 'slice':
        this.#printSlice(type.of, value as readonly GoValue[] | null | undefined);
        return;
      case 'map':
        this.#printMap(type.of, value as ReadonlyMap<string, GoValue> | null | undefined);
        return;
      case 'pointer':
        this.#printPointer(type.of, value, typing);
        return;
      case 'struct':
        if (isZeroStruct(value)) this.#printZero(name, type.fields);
        else this.#printStruct(type.fields, value as GoStruct);
        return;
      default:
        return type satisfies never;
    }
  }

  #printPointer(to: string, value: GoValue, typing: Typing): void {
    const isNil = value === null || value === undefined;
    if (!isNil || typing === 'typed') this.#forgetFrom(this.#depth);
    const isSeen = typeof value === 'object' && this.#followed.some((followed) => followed.value === value);
    if (typing === 'typed') this.#text += `(*${to})`;
    else if (!isNil) this.#text += '<*>';
    if (isNil) this.#text += '<nil>';
    else if (isSeen) this.#text += '<shown>';
    else {
      this.#followed.push({ value, depth: this.#depth });
      this.print(to, value, 'plain');
    }
  }

  /** Forgets the followed pointers at this depth and deeper, as go-spew does before it prints a pointer. */
  #forgetFrom(depth: number): void {
    this.#pointerDepth = Math.min(this.#pointerDepth, depth);
    while ((this.#followed.at(-1)?.depth ?? -1) >= depth) this.#followed.pop();
  }

  #printZero(name: string, fields: readonly GoField[]): void {
    let zero = zeroForms.get(name);
    if (!zero) {
      let text = '';
      const dump = new Dump((piece) => {
        text += piece;
      });
      dump.#printStruct(fields, {});
      dump.flush();
      zero = { text, pointerDepth: dump.#pointerDepth };
      zeroForms.set(name, zero);
    }
    this.#forgetFrom(this.#depth + zero.pointerDepth);
    this.#text += zero.text;
  }

  #printSlice(of: string, values: readonly GoValue[] | null | undefined): void {
    if (!values) {
      this.#text += '<nil>';
      return;
    }
    this.#text += '[';
    this.#depth += 1;
    for (const [index, value] of values.entries()) {
      if (index > 0) this.#text += ' ';
      this.print(of, value, 'plain');
    }
    this.#depth -= 1;
    this.#text += ']';
  }

  #printMap(of: string, entries: ReadonlyMap<string, GoValue> | null | undefined): void {
    if (!entries) {
      this.#text += '<nil>';
      return;
    }
    this.#text += 'map[';
    this.#depth += 1;
    for (const [index, key] of byBytes(entries.keys()).entries()) {
      this.#text += `${index > 0 ? ' ' : ''}${key}:`;
      this.print(of, entries.get(key), 'plain');
    }
    this.#depth -= 1;
    this.#text += ']';
  }

  #printStruct(fields: readonly GoField[], values: GoStruct): void {
    this.#text += '{';
    this.#depth += 1;
    for (const [index, [name, type]] of fields.entries()) {
      this.#text += index > 0 ? ` ${name}:` : `${name}:`;
      this.print(type, values[name], 'typed');
    }
    this.#depth -= 1;
    this.#text += '}';
  }
}

function isZeroStruct(value: GoValue): boolean {
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0;
}

/** Go orders strings by their UTF-8 bytes, which differs from the UTF-16 order of JavaScript. */
function byBytes(keys: Iterable<string>): string[] {
  const withBytes = Array.from(keys, (key) => ({ key, bytes: Buffer.from(key) }));
  return withBytes.sort((a, b) => Buffer.compare(a.bytes, b.bytes)).map(({ key }) => key);
}
