/** The gRPC server of the kubelet's own APIs on Unix sockets: connections, framing, limits. Owns no API; pods-api/ and pod-resources/ have the handlers. */
export { GrpcServer, type GrpcServerOptions } from './grpc-server.ts';
export type { Method, Methods, ResponseStream } from './serve-call.ts';
export { grpcStatusOf, goCodeName, GrpcError, statusCode, type StatusCode } from './status.ts';
