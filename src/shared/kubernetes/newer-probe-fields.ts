/**
 * Adds fields of probes in v1.37 to the client library's types, which are those of v1.36. A version of the library that has them makes this file superfluous.
 * Types only. The fields are text: a pod that is not validated yet may have other values than these.
 */
export type HttpProtocol = 'HTTP1' | 'HTTP2';
export type GrpcProbeMode = 'Plaintext' | 'TLS';

declare module '@kubernetes/client-node/dist/gen/models/V1HTTPGetAction.js' {
  interface V1HTTPGetAction {
    protocol?: string;
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1GRPCAction.js' {
  interface V1GRPCAction {
    mode?: string;
  }
}
