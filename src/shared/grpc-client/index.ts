/** Calls plugins on their Unix sockets: registration, CSI drivers. Each call has a deadline, and a bound of what it receives. */
export { callUnary, type UnaryCall } from './call-unary.ts';
export { isFinalError, RpcError } from './rpc-error.ts';
