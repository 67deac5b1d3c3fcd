/**
 * The replies of ListPodSandbox and ListContainers. With 5,000 containers a reply has 7 MB, and its encoding must not dominate a
 * benchmark. Each item is encoded a few times with different orders of its map entries and reused until its state changes. A reply joins
 * randomly chosen variants in random order.
 */
import {
  Container as CriContainer,
  PodSandbox,
  type ContainerFilter,
  type PodSandboxFilter,
} from '../../src/shared/cri/generated/cri-v1.ts';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { EncodedList, Slabs } from './encoded-list.ts';
import type { Container, Sandbox } from './machine.ts';
import { toContainer, toPodSandbox } from './messages.ts';
import { shuffle, type Random } from './shuffle.ts';

/** Encoded variants per item: 45 MB in total with 2,500 pods and 5,000 containers. */
const variantsKept = 4;
/** Items per message of a streaming list. */
export const streamChunkItems = 500;

interface Encoded {
  readonly state: string;
  readonly variants: (Uint8Array | undefined)[];
}

export class ListReplies {
  readonly #encoded = new WeakMap<Sandbox | Container, Encoded>();
  readonly #random: Random;
  readonly #slabs = new Slabs();

  constructor(random: Random) {
    this.#random = random;
  }

  sandboxes(all: Iterable<Sandbox>, filter: PodSandboxFilter | undefined): EncodedList {
    const items: Uint8Array[] = [];
    for (const sandbox of all) {
      if (filter && !matchesSandbox(sandbox, filter)) continue;
      items.push(this.#item(sandbox, () => PodSandbox.encode(toPodSandbox(sandbox, this.#random)).finish()));
    }
    return new EncodedList(shuffle(items, this.#random));
  }

  containers(all: Iterable<Container>, filter: ContainerFilter | undefined): EncodedList {
    const items: Uint8Array[] = [];
    for (const container of all) {
      if (filter && !matchesContainer(container, filter)) continue;
      items.push(this.#item(container, () => CriContainer.encode(toContainer(container, this.#random)).finish()));
    }
    return new EncodedList(shuffle(items, this.#random));
  }

  #item(object: Sandbox | Container, encode: () => Uint8Array): Uint8Array {
    let encoded = this.#encoded.get(object);
    if (encoded?.state !== object.state) this.#encoded.set(object, (encoded = { state: object.state, variants: [] }));
    const variant = Math.floor(this.#random() * variantsKept);
    return (encoded.variants[variant] ??= this.#slabs.store(asFirstField(encode())));
  }
}

/** Prepends the tag and length of an element of field 1, which is the item list in every list reply. */
function asFirstField(item: Uint8Array): Uint8Array {
  return new BinaryWriter().uint32(10).bytes(item).finish();
}

function hasLabels(labels: Readonly<Record<string, string>>, selector: Readonly<Record<string, string>>): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

const stateNumbers = { ready: 0, notReady: 1, created: 0, running: 1, exited: 2, unknown: 3 } as const;

function matchesSandbox(sandbox: Sandbox, filter: PodSandboxFilter): boolean {
  if (filter.id !== '' && filter.id !== sandbox.id) return false;
  if (filter.state && filter.state.state !== stateNumbers[sandbox.state]) return false;
  return hasLabels(sandbox.config.labels, filter.labelSelector);
}

function matchesContainer(container: Container, filter: ContainerFilter): boolean {
  if (filter.id !== '' && filter.id !== container.id) return false;
  if (filter.podSandboxId !== '' && filter.podSandboxId !== container.sandbox.id) return false;
  if (filter.state && filter.state.state !== stateNumbers[container.state]) return false;
  return hasLabels(container.config.labels, filter.labelSelector);
}
