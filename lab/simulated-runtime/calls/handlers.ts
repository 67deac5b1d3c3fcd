/** Types of the call handlers, derived from the generated service definitions. A reply is a message or an already encoded list. */
import type { ImageServiceDefinition, RuntimeServiceDefinition } from '../../../src/shared/cri/generated/cri-v1.ts';
import type { Partially } from '../../../src/shared/cri/client.ts';
import type { EncodedList } from '../encoded-list.ts';
import type { Handler } from '../call.ts';

type Definition = typeof RuntimeServiceDefinition | typeof ImageServiceDefinition;
type RequestOf<M> = M extends { requestType: { decode(input: Uint8Array): infer R } } ? R : never;
type ResponseOf<M> = M extends { responseType: { decode(input: Uint8Array): infer R } } ? R : never;

/** Handlers of unary calls return one reply, those of streaming calls an iterable. Calls without a handler are Unimplemented. */
export type Handlers<D extends Definition> = {
  readonly [K in keyof D['methods']]?: D['methods'][K] extends { responseStream: true }
    ? Handler<
        RequestOf<D['methods'][K]>,
        AsyncIterable<Partially<ResponseOf<D['methods'][K]>> | EncodedList> | Iterable<Partially<ResponseOf<D['methods'][K]>> | EncodedList>
      >
    : Handler<RequestOf<D['methods'][K]>, Partially<ResponseOf<D['methods'][K]>> | EncodedList>;
};
export type RuntimeHandlers = Handlers<typeof RuntimeServiceDefinition>;
export type ImageHandlers = Handlers<typeof ImageServiceDefinition>;
