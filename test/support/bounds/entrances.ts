/** Lists the entrances of foreign bytes that need a row in docs/bounds.md, from the schemas, the protocols and the source. Pure. */
import { messages } from '../../../src/shared/contracts/messages.ts';
import * as objectSchemas from '../../../src/shared/kubernetes/schema/objects.ts';
import { pod } from '../../../src/shared/kubernetes/schema/pod.ts';
import { sizedFields } from './schema-fields.ts';

/** A field of a pod that has sized fields: `spec.hostname`, `container.args`, `volume.secret`. Deeper fields belong to its row. */
export function podEntrances(): readonly string[] {
  return unique(sizedFields(pod).map(({ path }) => podEntrance(path)));
}

const containerLists: ReadonlySet<string | undefined> = new Set(['initContainers', 'containers', 'ephemeralContainers']);

function podEntrance([part = '', field, element, inner]: readonly string[]): string {
  if (part === 'spec' && element === '[]' && inner !== undefined) {
    if (containerLists.has(field)) return `container.${inner}`;
    if (field === 'volumes') return `volume.${inner}`;
  }
  return field === undefined ? part : `${part}.${field}`;
}

export function objectEntrances(): readonly string[] {
  return Object.keys(objectSchemas);
}

export function messageEntrances(): readonly string[] {
  return Object.keys(messages);
}

/** As protobufjs describes it. */
export interface Descriptor {
  readonly nested?: Readonly<Record<string, Descriptor>>;
  readonly fields?: Readonly<Record<string, { readonly type: string; readonly rule?: string; readonly keyType?: string }>>;
  readonly methods?: Readonly<Record<string, { readonly requestType: string; readonly responseType: string }>>;
}

/** Returns the requests or the replies of a protocol's methods that have strings, bytes, lists or maps, at any depth. */
export function protocolEntrances(protocol: Descriptor, side: 'requestType' | 'responseType'): readonly string[] {
  const types = new Map<string, Descriptor>();
  const collect = ({ nested = {} }: Descriptor) => {
    for (const [name, type] of Object.entries(nested)) {
      types.set(name, type);
      collect(type);
    }
  };
  collect(protocol);
  const isSized = (name: string, outer: readonly string[] = []): boolean =>
    Object.values(types.get(name)?.fields ?? {}).some(
      ({ type, rule, keyType }) =>
        rule === 'repeated' ||
        keyType !== undefined ||
        type === 'string' ||
        type === 'bytes' ||
        (!outer.includes(type) && isSized(type, [...outer, name])),
    );
  const methods = [...types.values()].flatMap(({ methods: ofService = {} }) => Object.values(ofService));
  return unique(methods.map((method) => method[side]).filter((name) => isSized(name)));
}

/** Modules and functions that open a connection, a socket or a process. */
const connecting =
  /import [^;]*\b(?:connect|createServer|request|spawn|fork|execFile|Agent|Pool|Client|createClient|buildConnector|watch)\b[^;]* from '(?:node:(?:net|http|http2|https|tls|dgram|child_process|fs)|undici|dbus-native|@grpc\/grpc-js)'/;
/** Calls that open or read a file or folder, or receive from a socket of the kernel. */
const reading =
  /(?<!function )\b(?:readFile|readFileSync|readdir|readdirSync|opendir|opendirSync|createReadStream|openSync)\(|(?<![.\w]|function )open\(|\brecvmsg\b/;

/** Returns how a file of the source lets bytes in, or undefined. */
export function entranceOfSource(text: string): 'connection' | 'file' | undefined {
  const code = text.replaceAll(/^import type [^;]*;$/gm, '');
  if (connecting.test(code)) return 'connection';
  return reading.test(code) ? 'file' : undefined;
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
