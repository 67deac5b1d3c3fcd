/** Types of the calls' handlers, from the generated service definitions: a reply may be a message, or a list that is encoded already. */
import type { ImageServiceDefinition, RuntimeServiceDefinition } from '../../../src/shared/cri/generated/cri-v1.ts';
import type { Partially } from '../../../src/shared/cri/client.ts';
import type { EncodedList } from '../encoded-list.ts';
import type { Handler } from '../call.ts';

type Definition = typeof RuntimeServiceDefinition | typeof ImageServiceDefinition;
type RequestOf<M> = M extends { requestType: { decode(input: Uint8Array): infer R } } ? R : never;
type ResponseOf<M> = M extends { responseType: { decode(input: Uint8Array): infer R } } ? R : never;

/** Handlers of unary calls give one reply; those of server streams an iterable of them. A call without one is Unimplemented. */
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
