/** A collector for tests: receives spans over OTLP/gRPC on loopback, and decodes what tests check. */
import { Server, ServerCredentials, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import type { TestHooks } from '../runtime/simulated-runtime.ts';

export interface ReceivedSpan {
  readonly name: string;
  readonly scope: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it begins its trace. */
  readonly parentId: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly string[];
  /** 2: failed. */
  readonly status: number;
  readonly resource: Readonly<Record<string, unknown>>;
}

export class OtlpCollector {
  /** Of loopback. */
  readonly port: number;
  readonly spans: ReceivedSpan[] = [];

  private constructor(port: number) {
    this.port = port;
  }

  static start(t: TestHooks, port = 0): Promise<OtlpCollector> {
    return OtlpCollector.#listen(t, `127.0.0.1:${port}`);
  }

  static startOnSocket(t: TestHooks, path: string): Promise<OtlpCollector> {
    return OtlpCollector.#listen(t, `unix:${path}`);
  }

  static async #listen(t: TestHooks, address: string): Promise<OtlpCollector> {
    const server = new Server();
    const asIs = (bytes: Buffer) => bytes;
    let collector: OtlpCollector | undefined;
    server.addService(
      {
        Export: {
          path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
          requestStream: false,
          responseStream: false,
          requestSerialize: asIs,
          requestDeserialize: asIs,
          responseSerialize: asIs,
          responseDeserialize: asIs,
        },
      },
      {
        Export: ({ request }: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
          collector?.spans.push(...decode(request));
          reply(null, Buffer.alloc(0));
        },
      },
    );
    const bound = await new Promise<number>((resolve, reject) => {
      server.bindAsync(address, ServerCredentials.createInsecure(), (err, actual) => (err ? reject(err) : resolve(actual)));
    });
    t.after(async () => server.forceShutdown());
    return (collector = new OtlpCollector(bound));
  }
}

type Fields = ReadonlyMap<number, readonly unknown[]>;

/** Splits a message into its fields: bytes, or numbers. */
function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, unknown[]>();
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const value = valueOf(reader, type, field);
    fields.set(field, [...(fields.get(field) ?? []), value]);
  }
  return fields;
}

function valueOf(reader: BinaryReader, type: WireType, field: number): unknown {
  if (type === WireType.Varint) return Number(reader.uint64());
  if (type === WireType.LengthDelimited) return reader.bytes();
  return reader.skip(type, field);
}

const all = (fields: Fields, field: number) => (fields.get(field) ?? []) as Uint8Array[];
const first = (fields: Fields, field: number) => all(fields, field)[0] ?? new Uint8Array();
const text = (fields: Fields, field: number) => Buffer.from(first(fields, field)).toString();
const hex = (fields: Fields, field: number) => Buffer.from(first(fields, field)).toString('hex');

function attributesIn(fields: Fields, field: number): Record<string, unknown> {
  return Object.fromEntries(
    all(fields, field).map((bytes) => {
      const entry = fieldsOf(bytes);
      const value = fieldsOf(first(entry, 2));
      return [text(entry, 1), value.has(1) ? text(value, 1) : value.get(3)?.[0]];
    }),
  );
}

function decode(request: Uint8Array): ReceivedSpan[] {
  return all(fieldsOf(request), 1).flatMap((bytes) => {
    const ofResource = fieldsOf(bytes);
    const resource = attributesIn(fieldsOf(first(ofResource, 1)), 1);
    return all(ofResource, 2).flatMap((scopeBytes) => {
      const ofScope = fieldsOf(scopeBytes);
      const scope = text(fieldsOf(first(ofScope, 1)), 1);
      return all(ofScope, 2).map((spanBytes) => toSpan(fieldsOf(spanBytes), scope, resource));
    });
  });
}

function toSpan(span: Fields, scope: string, resource: ReceivedSpan['resource']): ReceivedSpan {
  return {
    name: text(span, 5),
    scope,
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    parentId: hex(span, 4),
    kind: Number(span.get(6)?.[0] ?? 0),
    attributes: attributesIn(span, 9),
    events: all(span, 11).map((bytes) => text(fieldsOf(bytes), 2)),
    status: Number(fieldsOf(first(span, 15)).get(3)?.[0] ?? 0),
    resource,
  };
}
