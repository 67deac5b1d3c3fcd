/**
 * Replaces @grpc/proto-loader in the bundle: grpc-js loads it for its channelz and ORCA services only, which the kubelet does not use. With protobufjs it is a
 * third of grpc-js, whose source text each thread keeps in memory.
 */
export function loadSync() {
  throw new Error('the bundle has no @grpc/proto-loader');
}
